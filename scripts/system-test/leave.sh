#!/bin/bash
# Ends the container with the result of the test. systemd sets SERVICE_RESULT.
[ "${SERVICE_RESULT:-}" = success ] && code=0 || code=1
systemctl --no-block exit "$code"
