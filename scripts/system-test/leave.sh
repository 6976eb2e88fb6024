#!/bin/bash
# Ends the container with the test's result. systemd sets SERVICE_RESULT.
[ "${SERVICE_RESULT:-}" = success ] && code=0 || code=1
systemctl --no-block exit "$code"
