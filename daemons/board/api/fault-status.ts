/** HTTP status of the board's own faults; docs/ERRORS.md says of each what to do. */

export const faultStatus: Readonly<Record<string, number>> = {
  image_length: 400,
  image_unknown: 400,
  unknown_client: 404,
  unknown_port: 404,
  ota_busy: 409,
  ota_not_set_up: 409,
  other_role: 409,
  tcp_port_taken: 409,
  image_damaged: 422,
  image_too_old: 422,
  image_untrusted: 422,
  image_wrong_board: 422,
  line_refused: 422,
  helper_refused: 502,
  image_not_installed: 502,
  helper_absent: 503,
  no_stream: 503,
  image_no_room: 507,
  image_not_kept: 507,
}
