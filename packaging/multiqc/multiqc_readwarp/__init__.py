"""readwarp in MultiQC, as a plugin."""

SEARCH_PATTERN = {"fn": "metrics.json", "contents": '"readwarp":', "num_lines": 5}
CUSTOM_CONTENT = "*.readwarp_*mqc.json"  # the same numbers for a MultiQC without the module


def add_search_pattern() -> None:
    """Tell MultiQC which files are ours (its hook `execution_start`)."""
    from multiqc import config

    config.update_dict(config.sp, {"readwarp": SEARCH_PATTERN})
    config.sp["custom_content"]["exclude_fn"] = [CUSTOM_CONTENT]
