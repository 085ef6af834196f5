#!/bin/sh
# `docker run readwarp align ...` runs readwarp; workflow engines bring a command of their own: a shell, or readwarp itself.
case "${1:-}" in
  readwarp | sh | bash | python | python3 | ps | */*) exec "$@" ;;
  *) exec readwarp "$@" ;;
esac
