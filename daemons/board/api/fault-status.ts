/** HTTP status of the board's own faults; docs/ERRORS.md says of each what to do. */

export const faultStatus: Readonly<Record<string, number>> = {
  unknown_client: 404,
  unknown_port: 404,
  other_role: 409,
  tcp_port_taken: 409,
  line_refused: 422,
  helper_refused: 502,
  helper_absent: 503,
}
