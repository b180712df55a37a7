"""The explorer: how big is the cache, does it fit, and how fast can a system be at most?"""

from functools import partial

import streamlit as st

from core import lessons
from core.changes import changed, key_lines, told
from core.derivation import memory_derivations, speed_derivations
from core.evaluate import evaluate
from core.exact import users_curve
from core.measured_report import near_sentence
from core.report import numbers_table
from core.verdict import ceiling_alt, memory_alt, verdict
from ui import blocks, charts, controls, shell, story

PARTS = (
    "**Weights:** the numbers a model has learned. **KV cache:** the keys and values of all tokens so far, kept for "
    "each user so that no token computes them again. **Reserve:** memory left to intermediate results and the software."
)

view = shell.open_page("home")
scenario, unit = view.scenario, view.unit

first = (controls.model, controls.gpu, controls.n_gpus)
second = (controls.batch, controls.context, controls.kv_heads)
if not view.is_lecture:
    controls.row(view, *first, controls.more(*first, *second), controls.unit, widths=(3.4, 3.6, 1.6, 2.2, 1.5))
controls.row(view, *second)
blocks.looked_at(view, says_fit=False)

result = evaluate(scenario)
said = verdict(result, unit)
change = changed(view)
before = change.before if change else None

bar_alt, ceiling_words = told(memory_alt(result, unit), change), told(ceiling_alt(result), change)
blocks.chart(charts.memory_bar(result, unit, before), key="memory_bar", alt=bar_alt, lecture_px=charts.LOW)
blocks.verdict(said, brief=view.is_lecture and story.is_open(view))
if view.is_lecture:
    story.note(view)
blocks.pinned(view, change)
speed = speed_derivations(result, unit)
blocks.fold(view, speed, ("memory_s", "per_user", "system"), story.buttons)
numbers, pin = st.columns([4, 3], vertical_alignment="center")
with numbers:
    blocks.sentences(key_lines(result, before, unit), small=True, help=PARTS)
with pin, st.container(horizontal=True, horizontal_alignment="right"):
    story.next_button(view)
    blocks.pin_row(view)
story.note(view)

chart, figures = st.columns([3, 2])
with chart:
    blocks.chart(charts.ceiling_chart(result, before), key="ceiling", alt=ceiling_words)
with figures:
    blocks.key_figures([d for d in speed if d.key in ("memory_s", "per_user", "system")])
    blocks.sentences([*said.speed, *near_sentence(scenario)])

story.story(view)
blocks.sentences(said.cautions, small=True)

st.header("The arithmetic", anchor=False)
memory_column, speed_column = st.columns(2)
with memory_column:
    st.subheader("Memory", anchor=False)
    blocks.arithmetic(memory_derivations(result, unit))
with speed_column:
    st.subheader("Speed", anchor=False)
    blocks.arithmetic(speed)

st.header("The numbers", anchor=False)
blocks.table(*numbers_table(result, unit))
with st.container(horizontal=True):
    blocks.csv_of(partial(numbers_table, result, unit, exact=True), name="how-big-is-the-cache")
    blocks.csv_of(partial(users_curve, scenario), name="ceiling-against-users", label="The curves as CSV")
blocks.take_away(view, result)
blocks.reading(lessons.READING)
