"""What happens while you drag?"""

from core.live import reel
from ui import live, shell

view = shell.open_page("live")
live.row(view)

found = reel(view.scenario, live.chosen(), view.unit)
live.picture(found)
if not view.is_lecture:
    live.words(found)
    live.numbers(found)
