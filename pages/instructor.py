"""How do I teach this in fifteen minutes? The lecture plan with its links, and what is worth knowing before."""

import streamlit as st

from core import lessons
from core.lecture import EXPECT, PLAN, links, times
from core.misconceptions import MISCONCEPTIONS
from ui import blocks, keys, paper, shell
from ui.text import plain

TO_KNOW = (
    "**Project.** The links open in lecture view: large print, and nothing to scroll. L turns it on and off, on every "
    "page; Back in the browser undoes a change, and from an untouched link it leads back to this plan.",
    "**From step to step.** Next, or the key N, follows the menu, not the plan: come back here for the next number, or "
    "open the ten links in tabs before the lecture.",
    "**Ask first.** In lecture view the question to ask is the one above. Each lesson has a prediction besides, with "
    "claims to choose from: press L for page view, let the class raise hands, choose, and the formulas answer. With "
    "reveal=1 in the address, or the switch “Show all answers”, all answers are there at once.",
    "**Before and after.** P pins the scenario; whatever you change is then drawn beside it, with the factors. Step 4 "
    "opens with a pin.",
    "**On phones.** Share, or the key S, shows the link of what you see as a QR code: the class opens exactly that "
    "view and drags the sliders itself. The server must be reachable from their network.",
    "**On slides.** Copy the addresses below: each opens cold, on any day, with its own scenario.",
    "**Afterwards.** The worksheet follows whatever scenario is set; its answer key is a switch. Both print.",
)

view = shell.open_page("instructor")
paper.style()

st.markdown(
    "One step for each of the chapter's ten lines: the link, what to ask before you open it, what to show, and the "
    "answer as the formulas give it, in the figures that are then on the screen."
)
for number, (step, (start, end)) in enumerate(zip(PLAN, times(), strict=True), start=1):
    page = lessons.page(step.page)
    with st.container(border=True, key=f"whole-{number}"):
        when, where, what = st.columns([1.3, 3.3, 8])
        with when:
            st.markdown(f"**{start}–{end}\u00a0min**")
        with where:
            label = f"{number}\\. {page.question}"
            st.page_link(page.file, label=label, query_params=step.query(view.unit), icon=":material/co_present:")
        with what:
            st.markdown(
                f"{plain(step.line)}  \n**Ask:** {plain(step.ask)}  \n**Show:** {plain(step.show)}  \n"
                f"**Answer:** {plain(step.answer(view.unit))}"
            )
with st.container(horizontal=True):
    for slug, words in (("cut-the-bytes", "To close, if there is time"), ("worksheet", "To take home")):
        page = lessons.page(slug)
        st.page_link(page.file, label=f"{words}: {page.question}", query_params=view.to_query())

st.header("Worth knowing", anchor=False)
for sentence in TO_KNOW:
    st.markdown(sentence)
with paper.screen_only(), st.expander("The ten addresses, to copy into slides"):
    here = (st.context.url or "").rpartition("/")[0]
    for number, address in enumerate(links(here, view.unit), start=1):
        st.caption(f"{number}. {plain(PLAN[number - 1].line)}")
        st.code(address, language=None, wrap_lines=True)

st.header("Keys", anchor=False)
digits = (f"{keys.PRESET_KEYS[0]} to {keys.PRESET_KEYS[-1]}", "the scenarios to try, in their order")
blocks.table(("key", "does"), [*keys.ACTIONS.values(), digits])

st.header("Misconceptions to expect", anchor=False)
cards = [MISCONCEPTIONS[slug] for slug in EXPECT]
blocks.table(("they say", "the formulas say"), [(card.claim, card.explain(view.unit)) for card in cards])
