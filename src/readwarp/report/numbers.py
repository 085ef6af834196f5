"""Format numbers as short texts."""


def number_text(value: float, percent: bool = False) -> str:
    """Format as 12,345, 0.0123, 98.76 %."""
    if percent:
        digits = 0 if value in (0, 1) else 2 if value < 0.1 or 0.9 < value < 1 else 1
        return f"{100 * value:.{digits}f}\N{NO-BREAK SPACE}%"
    if value == round(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"


def ratio(a: int, b: int) -> str:
    return f"{a / b:.2f}" if b else "-"


def count_text(number: float, noun: str) -> str:
    """Format as 1 indel, 12,345 indels; for nouns whose plural ends in s."""
    return f"{number:,.0f} {noun}" if number == 1 else f"{number:,.0f} {noun}s"


def tick_text(value: float) -> str:
    """Format a number at an axis, in full, so that all of an axis look alike: 0.5, 1,500, 2,000,000."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"


def large_text(number: float) -> str:
    """Format as 1.23 trillion."""
    for size, name in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if number >= size:
            return f"{number / size:.3g} {name}"
    return f"{number:,.0f}"


def bytes_text(value: float) -> str:
    """Format as 512 B, 1.5 GiB."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(value) < 1024 or unit == "TiB":
            break
        value /= 1024
    return f"{value:.3g} {unit}" if value < 1000 else f"{value:.0f} {unit}"


def duration_text(seconds: float) -> str:
    """Format as 12.3 s, 2 min 05 s, 1 h 02 min."""
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"
