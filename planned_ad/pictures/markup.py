"""HTML and SVG as text, without scripts, style sheets or anything from elsewhere: what notebooks keep, and show.

>>> element("b", "x < y", title="a line")
'<b title="a line">x &lt; y</b>'
>>> element("g", Markup(element("rect", width=1.5)), font_size=3)
'<g font-size="3"><rect width="1.5"></rect></g>'
"""

from __future__ import annotations

import html

FONT = "ui-sans-serif, system-ui, sans-serif"
CODE = "ui-monospace, monospace"
# Told apart by people who do not see all colours (Okabe & Ito, 2008); text is in the colour of the page around.
ORANGE, BLUE, GREEN, PINK = "#e69f00", "#56b4e9", "#009e73", "#cc79a7"


class Markup(str):
    """Text that is markup already."""


def element(tag: str, *children: str, **attributes: object) -> Markup:
    """An element; children are escaped unless they are `Markup`; `font_size=3` is the attribute `font-size`."""
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{html.escape(written_attribute(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    inside = "".join(child if isinstance(child, Markup) else html.escape(child, quote=False) for child in children)
    return Markup(f"<{tag}{written}>{inside}</{tag}>")


def written_attribute(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def joined_markup(parts: list[Markup]) -> Markup:
    return Markup("".join(parts))


def picture(width: float, height: float, *children: Markup, label: str) -> Markup:
    """An SVG of at most this width, which shrinks with the page, and is described for those who do not see it."""
    return element(
        "svg",
        *children,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {written_attribute(width)} {written_attribute(height)}",
        style=f"max-width:{written_attribute(width)}px;width:100%;height:auto;display:block;font-family:{FONT}",
        role="img",
        aria_label=label,
    )


def words(x: float, y: float, text: str, size: float = 11.0, **attributes: object) -> Markup:
    """Text in a picture."""
    return element("text", text, x=x, y=y, font_size=size, fill="currentColor", **attributes)


def foldable(title: str, *children: Markup, is_open: bool = False) -> Markup:
    """A part of a page that is opened by a click."""
    summary = element("summary", title, style="cursor:pointer;font-weight:600;margin:0.4em 0")
    return element("details", summary, *children, open="" if is_open else None)


def html_table(head: list[str], rows: list[list[Markup]]) -> Markup:
    """Cells are markup, and none is broken into lines."""
    cell = "padding:1px 8px;vertical-align:top;text-align:left;white-space:nowrap"
    top = joined_markup([element("th", text, style=cell) for text in head])
    body = joined_markup([element("tr", *(element("td", c, style=cell) for c in row)) for row in rows])
    return element(
        "table",
        element("thead", element("tr", top)),
        element("tbody", body),
        style="border-collapse:collapse;color:inherit",
    )


def code_lines(texts: list[str]) -> Markup:
    """Lines of a program, one below the other."""
    return joined_markup(
        [element("div", element("code", t, style=f"font-family:{CODE};white-space:pre;font-size:90%")) for t in texts]
    )
