/** What a raw TCP server and the line behind it are to each other. */
import type { Line } from './line.ts'
import type { LineSender } from './line-queue.ts'

/** TCP clients of a raw line. What one sends goes to the line; what the line sends goes to all. */
export interface RawSocketServer {
  /** To every client that the line does not pass bytes to by itself. */
  broadcast(bytes: Uint8Array): void
  /**
   * tcpClients now; since it listens tcpRefused (too many), tcpEvicted (made room for another address), tcpCutOff (too
   * slow), and tcpDroppedBytes of those who left before the line took them.
   */
  counters(): Record<string, number>
  close(): Promise<void>
}

/** How a raw socket server meets its line. */
export interface RawSocketLine extends Pick<Line, 'pass' | 'sender' | 'settle' | 'pause' | 'resume'> {
  /** A client sent these, and the line has them all. */
  onPassed(bytes: Uint8Array, atUs: number): void
  /**
   * A client sent these, and the line has only the first `taken`. The rest is written by that sender.
   * @returns how many of the rest the line took
   * @throws Fault `line_closed`, at once or later
   */
  onBytes(bytes: Uint8Array, taken: number, sender: LineSender): Promise<number>
}

/** Opens a TCP server for a raw line. @throws Fault `tcp_port_taken` */
export type RawSocketOpener = (
  settings: { port: number; maxClients: number },
  line: RawSocketLine,
) => Promise<RawSocketServer>
