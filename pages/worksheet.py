"""Can I work it out by hand? The worksheet of the present scenario, and its answer key."""

from core.worksheet import worksheet
from ui import controls, paper, shell
from ui import worksheet as sheets

view = shell.open_page("worksheet")
paper.style()

first = (controls.model, controls.gpu, controls.n_gpus)
second = (controls.batch, controls.context)
sheet = worksheet(view.scenario, view.seed, view.unit)
with paper.screen_only():
    controls.row(view, *first, controls.more(*first, *second), controls.unit, widths=(3.4, 3.6, 1.6, 2.2, 1.5))
    controls.row(
        view,
        *second,
        sheets.variant,
        sheets.key_switch,
        lambda _: sheets.download(sheet, key=view.reveal),
        widths=(3.4, 3.6, 1.4, 1.6, 2.2),
    )
sheets.show(sheet, key=view.reveal)
