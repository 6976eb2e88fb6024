/** One client of a serial port: its connection, what it speaks, what it has sent and got. */
import type { Clock, Timer } from '#kit/clock.ts'
import type { LineSender } from '#kit/line/line-queue.ts'
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

/** Why a client is not read: it waits for a change of the line, or enough of its address waits for the line. */
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
  /** When something of it was read last, monotonic. */
  activeMs: number
  /** Of the line that is open now. */
  sender: LineSender | undefined
  /** What shares its turn on the line. */
  network = ''
  leavePlace: () => void = () => {}
  /** It has said all it will say. */
  isEnding = false
  /** Ends one that is ending and takes nothing more. */
  endTimer: Timer | undefined
  readonly #pauses = new Set<Pause>()
  #reads: Parameters<Client['steer']>[0] = 'all'

  constructor(id: number, { epochMs, monotonicMs }: Pick<Clock, 'epochMs' | 'monotonicMs'>) {
    this.id = id
    this.sinceAt = epochMs()
    this.activeMs = monotonicMs()
  }

  /** Its bytes are not read, as enough of its address waits for the line. */
  get isResting(): boolean {
    return this.#pauses.has('backlog')
  }

  /** It waits for a change of the line. */
  get isBusy(): boolean {
    return this.#pauses.has('busy')
  }

  pause(why: Pause): boolean {
    if (this.#pauses.has(why)) return false
    this.#pauses.add(why)
    this.#flow()
    return true
  }

  resume(why: Pause): boolean {
    if (!this.#pauses.delete(why)) return false
    this.#flow()
    return true
  }

  /** Of one that waits for a change of the line what it sent before it left is carried out in its order: first the change. */
  #flow(): void {
    this.connection.setReading(this.#pauses.has('busy') ? 'stopped' : this.#pauses.size > 0 ? 'resting' : 'reading')
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
