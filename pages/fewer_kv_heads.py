"""What do fewer KV heads buy?"""

from functools import partial

import streamlit as st

from core.changes import changed, paired, told
from core.derivation import memory_derivations, speed_derivations
from core.evaluate import evaluate
from core.exact import heads, layer_kinds
from core.published import SHAZEER_DECODER, SHAZEER_ENCODER, SHAZEER_SOURCE
from core.report import architecture_rows, variant_rows
from core.units import integer
from core.variants import architectures, kv_variants, shazeer_summary
from core.verdict import heads_summaries, verdict
from ui import blocks, charts, controls, lesson

COMMON_CONTEXT = 2048
ARCHITECTURES_ALT = "Cache of one sequence by kind of layer, model by model; the table beneath has the numbers."

view, plan = lesson.open_lesson("fewer-kv-heads")
shown = (controls.model, controls.batch, controls.kv_heads)
lesson.control_row(view, *shown)
lesson.predict(view, plan)

result = evaluate(view.scenario)
said = verdict(result, view.unit)
variants = kv_variants(view.scenario)
summary = heads_summaries(variants, view.scenario, view.unit)
change = changed(view)
pairs = paired(variants, view.scenario, change.before.scenario) if change else ()
figures = charts.kv_variants_figures(variants, view.unit, pairs)
blocks.side_by_side(figures, key="variants", alt=told(" ".join(summary), change))
blocks.pinned(view, change)
blocks.sentences(summary)
sums = memory_derivations(result, view.unit) + speed_derivations(result, view.unit)
lesson.fold(view, plan, sums, ("kv_cache", "step_s", "system"))
blocks.sentences([*said.memory, *said.cautions], small=True)
lesson.presets(plan)

st.header("The arithmetic", anchor=False)
wanted = ("weights", "kv_cache", "max_batch", "step_s", "system")
blocks.arithmetic([d for d in sums if d.key in wanted])
blocks.table(*variant_rows(variants, view.unit))
blocks.csv_of(partial(heads, variants), name="kv-heads")

st.header("Other ways to a smaller cache", anchor=False)
together, own = architectures(COMMON_CONTEXT), architectures(None)
figures = (
    charts.architectures_figure(f"one sequence of {integer(COMMON_CONTEXT)} tokens", together, view.unit),
    charts.architectures_figure("each model's own full context", own, view.unit),
)
blocks.side_by_side(figures, key="architectures", alt=ARCHITECTURES_ALT)
blocks.table(*architecture_rows(together, own, view.unit))
blocks.csv_of(partial(layer_kinds, together, own), name="kinds-of-layer", label="Kinds of layer as CSV")

st.header("What was measured first", anchor=False)
blocks.table(
    ("measured, microseconds per token", "multi-head", "multi-query", "times faster"),
    [pair.row() for pair in (SHAZEER_DECODER, SHAZEER_ENCODER)],
)
blocks.sentences([f"Source: {SHAZEER_SOURCE}.", shazeer_summary(view.scenario)])
lesson.close(view, plan)
