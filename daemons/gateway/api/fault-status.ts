/** HTTP status of the gateway's own faults; docs/ERRORS.md says of each what to do. */

export const faultStatus: Readonly<Record<string, number>> = {
  bad_transmit: 400,
  username_needed: 400,
  wrong_login: 401,
  port_not_allowed: 403,
  unknown_port: 404,
  unknown_webhook: 404,
  already_set_up: 409,
  line_closed: 409,
  not_set_up: 409,
  too_many_ports: 409,
  too_many_webhooks: 409,
  webhook_test_busy: 409,
  wrong_protocol: 409,
  line_not_tty: 422,
  line_refused: 422,
  queue_full: 429,
  modbus_exception: 502,
  line_gone: 503,
  line_write_failed: 503,
  modbus_timeout: 504,
}
