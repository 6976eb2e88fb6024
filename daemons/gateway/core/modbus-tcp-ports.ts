/** What the Modbus TCP server of a line needs of the world, as interfaces that io/ implements. */

/**
 * Why a client is let go: there are as many as may be (`full`), another address needs its place (`evicted`), its stream is no Modbus TCP (`malformed`), it does not
 * take its replies (`slow`), or it has asked nothing for long (`idle`).
 */
export type LetGo = 'full' | 'evicted' | 'malformed' | 'slow' | 'idle'

/** One client's connection. */
export interface TcpPeer {
  /** Bytes are the connection's own afterwards. Who does not take them is cut off by the connection itself. */
  send(bytes: Uint8Array): void
  /** Reads no further until `resume`. */
  pause(): void
  resume(): void
  /** Lets the client go once what was sent to it is out. `detail` says what was seen, without payload. */
  end(why: LetGo, detail: string): void
}

/** What becomes of one client's bytes. */
export interface TcpClient {
  /** Requests without an answer: who waits for one is not idle. */
  readonly waiting: number
  /** Bytes are the client's own afterwards. */
  onBytes(bytes: Uint8Array): void
  /** Runs once, whoever ended the connection. */
  onClosed(): void
}

/** Who hears of clients. */
export interface TcpHouse {
  onClient(peer: TcpPeer): TcpClient
  onLetGo(why: LetGo): void
}

/** A server that listens. */
export interface TcpServer {
  /** Ends every connection. */
  close(): Promise<void>
}

/** @param settings `port` 1..65535; `maxClients` at once. @throws Fault `tcp_port_taken` */
export type TcpServerOpener = (settings: { port: number; maxClients: number }, house: TcpHouse) => Promise<TcpServer>
