/** HTTP status of the board's own faults; docs/ERRORS.md says of each what to do. */

export const faultStatus: Readonly<Record<string, number>> = {
  other_role: 409,
  helper_refused: 502,
  helper_absent: 503,
}
