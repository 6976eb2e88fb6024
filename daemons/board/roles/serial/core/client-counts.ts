/** What is counted of the clients of one serial port. */

/** Counts of a port since the daemon started. */
export interface ClientCounts {
  /** Line to TCP, and TCP to line. */
  bytes_from_line: number
  bytes_to_line: number
  /** Sent by who may not write, while there was no line, or by who left before the line took them. */
  bytes_discarded: number
  clients_total: number
  /** Not allowed, or one too many. */
  clients_refused: number
  /** Made room for another address. */
  clients_evicted: number
  /** Too slow. */
  clients_dropped: number
  /** Suboptions and messages that were not understood. */
  telnet_faults: number
}

export function noCounts(): ClientCounts {
  return {
    bytes_from_line: 0,
    bytes_to_line: 0,
    bytes_discarded: 0,
    clients_total: 0,
    clients_refused: 0,
    clients_evicted: 0,
    clients_dropped: 0,
    telnet_faults: 0,
  }
}
