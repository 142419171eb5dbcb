"""Words and texts on which the two tokenizers are compared: what is likely to be split, joined or normalised differently."""

import random

MODEL_WORDS = ["<sep>", "<hole 0 1>", "<hole 0 10>", "<go>", "size"]

# Words that begin alike, end alike, contain blanks, one another, or letters outside of ASCII.
TEXT_WORDS = ["<a>", "<a", "<a>b", "b>c", "c", "hole", "holes", "(1,2)", "(1,2", "level 1", "level 10", "new\nline", "  ", "don't", "→", "日本"]

WRITTEN = [
    "",
    "a",
    " ",
    "   ",
    "\n\n \t x  \r\n",
    "<a><a>b>c<a",
    "holesholehol eholes",
    "level 1level 10level 100",
    "(1,2)(1,2(1,2x",
    "don't I'm we'LL they'd you've 'S",
    "new\nline new\n line",
    "<|endoftext|>",
    "x<|endoftext|><|endoftext|>y c<|endoftext|",
    "12345 3.14 ½ ²³ ٣٤ Ⅷ",
    "é e\u0301 ñ n\u0303 Å \u212b ﬁ",
    "日本語 日 本 中文字符 한국어 עברית العربية ไทย",
    "👍🏽 👨‍👩‍👧‍👦 🇨🇭 ✈\ufe0f",
    "\ufeffstart and \ufeff inside",
    "zero\u200bwidth \u00a0 nbsp \u2003 em \u2028 ls \u2029 ps \u0085 nel",
    "\u0000\u0001\u001f\u007f\u0080\u009f",
    "→→ ←→",
    "Ġ Ċ ĉ Ā ł Ń",
    "\U0010ffff \ud7ff \ue000 \uffff",
    "{\"wait_ratio\": 0.3, \"sizes\": [3, 4]}",
    "Agent 1: (0,0) → (3,3)\nAgent 2: …\n",
]


def random_texts(count: int) -> list[str]:
    draw = random.Random(1)
    pieces = [*TEXT_WORDS, "<|endoftext|>", "<", ">", "b", "(", "1", "2)", " ", "\n", "\r", "\t", "'", "S", "é", "ß", "語", "🙂", "\u0301", "٣"]
    return ["".join(draw.choice(pieces) for _ in range(draw.randint(1, 14))) for _ in range(count)]


TEXTS = WRITTEN + random_texts(300)
