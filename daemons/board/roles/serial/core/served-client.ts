/** One client of a serial port: its connection, what it speaks, what it has sent and got. */
import type { Client } from './ports.ts'
import type { Rfc2217Session } from './rfc2217-session.ts'

/** As the API shows it. */
export interface ClientView {
  id: number
  address: string
  client_port: number
  since_at: number
  may_write: boolean
  rfc2217: boolean
  /** From it, and to it. */
  bytes_in: number
  bytes_out: number
}

/** Why a client is not read: it waits for a change of the line, or the line has not taken what it sent. */
type Pause = 'busy' | 'backlog'

export class ServedClient {
  readonly id: number
  readonly sinceAt: number
  /** Set as soon as the connection was taken. */
  connection!: Client
  /** Undefined on a raw port. */
  session: Rfc2217Session | undefined
  bytesIn = 0
  bytesOut = 0
  /** Bytes of it that the line has yet to take. */
  heldBytes = 0
  readonly #pauses = new Set<Pause>()
  #reads: Parameters<Client['steer']>[0] = 'all'

  constructor(id: number, sinceAt: number) {
    this.id = id
    this.sinceAt = sinceAt
  }

  pause(why: Pause): boolean {
    if (this.#pauses.has(why)) return false
    this.#pauses.add(why)
    this.connection.setReading(false)
    return true
  }

  resume(why: Pause): boolean {
    if (!this.#pauses.delete(why)) return false
    if (this.#pauses.size === 0) this.connection.setReading(true)
    return true
  }

  /** @param mayPass its bytes may go to the line without being asked about */
  steer(mayPass: boolean): void {
    const plain = this.session === undefined ? 'all' : this.session.isPlain ? 'untilCommand' : 'none'
    const reads = mayPass ? plain : 'none'
    if (reads === this.#reads) return
    this.#reads = reads
    this.connection.steer(reads)
  }

  view(mayWrite: boolean): ClientView {
    return {
      id: this.id,
      address: this.connection.address,
      client_port: this.connection.port,
      since_at: this.sinceAt,
      may_write: mayWrite,
      rfc2217: this.session?.isComPort ?? false,
      bytes_in: this.bytesIn,
      bytes_out: this.bytesOut,
    }
  }
}
