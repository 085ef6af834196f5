"""Options and data as Python users give and get them."""
