/** The serial ports of a board: found by number, changed and saved one after another. */
import { Fault } from '#kit/fault.ts'
import { createTurn } from '#kit/turn.ts'
import type { Verdict } from '../../../core/role.ts'
import type { Setting } from '../../../core/settings/setting.ts'
import { checkPortForm } from './serial-form.ts'
import type { SerialPort, SerialPortLife } from './serial-port.ts'
import type { PortSettings } from './serial-settings.ts'
import type { ClientView } from './served-client.ts'

/** A port as the API shows it. */
export type SerialPortView = { port: number } & PortSettings & SerialPortLife

export interface SerialPortsParts {
  ports: readonly SerialPort[]
  settings: readonly Setting[]
  /** TCP port of the board's own page. */
  httpPort(): number
  /** Saves what every port has, by number. @throws Fault `store_write_failed` */
  save(settings: Readonly<Record<number, PortSettings>>): Promise<void>
}

export class SerialPorts {
  readonly #parts: SerialPortsParts
  readonly #inTurn = createTurn()

  constructor(parts: SerialPortsParts) {
    this.#parts = parts
  }

  get all(): readonly SerialPort[] {
    return this.#parts.ports
  }

  views(): SerialPortView[] {
    return this.all.map(viewOf)
  }

  async start(): Promise<void> {
    await Promise.all(this.all.map((port) => port.start()))
  }

  async stop(): Promise<void> {
    await Promise.all(this.all.map((port) => port.stop()))
  }

  /**
   * Checks a form, applies it and saves it: all of it or nothing.
   * @throws Fault `bad_fields`, `unknown_port`, `line_refused`, `tcp_port_taken`, `store_write_failed`
   */
  change(
    number: number,
    given: Readonly<Record<string, string>>,
  ): Promise<{ view: SerialPortView; changed: string[] }> {
    return this.#inTurn(async () => {
      const port = this.require(number)
      const before = port.settings
      const next = checkPortForm(given, before, { settings: this.#parts.settings, takenPorts: this.#taken(port) })
      await port.apply(next, () => this.#parts.save({ ...this.#saved(), [number]: next }))
      const changed = Object.keys(next).filter(
        (name) => next[name as keyof PortSettings] !== before[name as keyof PortSettings],
      )
      return { view: viewOf(port), changed }
    })
  }

  /** @throws Fault `unknown_port`, `unknown_client` */
  drop(number: number, client: number): ClientView {
    const view = this.require(number).drop(client)
    if (view === undefined)
      throw new Fault('unknown_client', `Port ${number} has no client ${client}; it may have left.`)
    return view
  }

  /** @throws Fault `unknown_port` */
  require(number: number): SerialPort {
    const port = this.all.find((one) => one.port === number)
    if (port) return port
    const count = this.all.length
    const has = count === 0 ? 'no serial device' : count === 1 ? 'one serial device' : `${count} serial devices`
    throw new Fault(
      'unknown_port',
      `This board has ${has}, so there is no port ${number}. Name its device in the settings.`,
    )
  }

  verdict(): Verdict {
    const enabled = this.all.filter(({ settings }) => settings.enabled)
    if (this.all.length === 0)
      return { state: 'off', text: 'No serial device is named. Name up to four in the settings.' }
    if (enabled.length === 0) return { state: 'off', text: 'No serial port is switched on.' }
    const troubled = enabled.find(({ fault }) => fault !== undefined)
    if (troubled?.fault) {
      const state = troubled.state === 'absent' ? 'warn' : 'fault'
      return { state, text: `Port ${troubled.port}: ${troubled.fault.message}` }
    }
    const clients = enabled.reduce((sum, { clientCount }) => sum + clientCount, 0)
    const ports = enabled.length === 1 ? 'One serial port is open' : `${enabled.length} serial ports are open`
    const who =
      clients === 0
        ? 'nobody is connected'
        : clients === 1
          ? 'one client is connected'
          : `${clients} clients are connected`
    return { state: 'ok', text: `${ports}, ${who}.` }
  }

  #saved(): Record<number, PortSettings> {
    return Object.fromEntries(this.all.map(({ port, settings }) => [port, settings]))
  }

  #taken(port: SerialPort): Map<number, string> {
    const taken = new Map([[this.#parts.httpPort(), "this board's own page"]])
    for (const one of this.all) if (one !== port) taken.set(one.settings.tcp_port, `port ${one.port}`)
    return taken
  }
}

function viewOf(port: SerialPort): SerialPortView {
  return { port: port.port, ...port.settings, ...port.life() }
}
