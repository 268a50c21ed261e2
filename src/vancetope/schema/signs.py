"""The characters that stand for JSON's own in what models write; as escapes where two look alike."""

# White space of Unicode, and marks without width: between the tokens of JSON all of it says nothing.
BLANK = (
    " \t\n\r\v\f\x85\u00a0\u00ad\u1680\u180e\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
)

# Plain and full-width.
BRACES_OPEN = "{\uff5b"
BRACES_CLOSED = "}\uff5d"
OPENING = "{[\uff5b\uff3b"
CLOSING = "}]\uff5d\uff3d"
COMMAS = ",\uff0c"
COLONS = ":\uff1a"
NARROW = str.maketrans("\uff5b\uff5d\uff3b\uff3d", "{}[]")

# Quotes by family: what opens a string, what closes it, and what must not stand in it: a straight quote among
# typographic ones may be the end of the string or not. A low quote closes none.
QUOTE_FAMILIES = (
    ('"', '"', ""),
    ("'", "'", ""),
    ("\u201c\u201d\u201e\u201f", "\u201c\u201d\u201f", '"'),
    ("\u2018\u2019\u201a\u201b", "\u2018\u2019\u201b", ""),
    ("\uff02", "\uff02", '"'),
    ("\uff07", "\uff07", ""),
)
QUOTES = "".join(opening for opening, _, _ in QUOTE_FAMILIES)
