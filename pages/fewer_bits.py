"""What does quantization shrink?"""

from functools import partial

import streamlit as st

from core.changes import changed, told
from core.derivation import memory_derivations, speed_derivations
from core.evaluate import evaluate
from core.exact import cache_formats, weight_formats
from core.published import SIZES
from core.report import component_rows, format_rows
from core.variants import ridge_rows
from core.verdict import bits_summary, verdict
from ui import blocks, charts, controls, lesson

view, plan = lesson.open_lesson("fewer-bits")
shown = (controls.model, controls.weight_format, controls.cache_format)
lesson.control_row(view, *shown)
lesson.predict(view, plan)

result = evaluate(view.scenario)
said = verdict(result, view.unit)
summary = bits_summary(result, view.unit)
change = changed(view)
before = change.before if change else None
figures = (charts.formats_figure(result, view.unit, before), charts.cache_formats_figure(result, view.unit, before))
blocks.side_by_side(figures, key="formats", alt=told(" ".join(summary), change), widths=(2, 1), lecture_px=charts.TALL)
blocks.legend(charts.parts_key(result, before))
blocks.pinned(view, change)
blocks.sentences(summary[:1] if view.is_lecture else summary)
sums = memory_derivations(result, view.unit) + speed_derivations(result, view.unit)
lesson.fold(view, plan, sums, ("kv_cache", "memory_s", "system"))
blocks.sentences([said.headline, *said.memory, *said.cautions], small=True)
lesson.presets(plan)

st.header("The arithmetic", anchor=False)
wanted = ("weights", "kv_cache", "max_batch", "memory_s", "system")
blocks.arithmetic([d for d in sums if d.key in wanted])
blocks.table(*component_rows(view.scenario, view.unit))

st.header("Every format on this model", anchor=False)
blocks.table(*format_rows(view.scenario, view.unit))
with st.container(horizontal=True):
    blocks.csv_of(partial(weight_formats, view.scenario), name="weight-formats", label="Weight formats as CSV")
    blocks.csv_of(partial(cache_formats, view.scenario), name="cache-formats", label="Cache formats as CSV")
st.header("The ridge that each format implies", anchor=False)
blocks.table(*ridge_rows(view.scenario.gpu_spec.slug))
st.header("Published sizes", anchor=False)
blocks.table(("weights", "published", "ours", "difference", "source"), [size.row(view.unit) for size in SIZES])
lesson.close(view, plan)
