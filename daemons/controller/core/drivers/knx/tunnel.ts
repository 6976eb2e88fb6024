/** A tunnel to the bus through a KNXnet/IP interface: opened, kept alive, and ended so that it is free for others. */
import type { Timer } from '#kit/clock.ts'
import { Fault } from '#kit/pure/fault.ts'
import { durationText } from '#kit/pure/text.ts'
import {
  CONNECT_RESPONSE,
  channelRequest,
  connectRequest,
  DISCONNECT_REQUEST,
  disconnectResponse,
  type KnxMessage,
  readKnxMessage,
  readTelegram,
  STATE_REQUEST,
  STATE_RESPONSE,
  statusWords,
  type Telegram,
  TUNNEL_ACK,
  TUNNEL_REQUEST,
  tunnelAck,
  tunnelRequest,
} from '../../../wire/knx.ts'
import { within } from '../../turns.ts'
import type { Connection, DriverContext, Place } from '../driver.ts'

/** How long an interface may take. @source KNX Standard 3/8/2, 5.8 and 3/8/4, 2.6 */
const CONNECT_MS = 5000
const ACK_MS = 1000
const CONFIRM_MS = 3000
const STATE_MS = 3000
/** How often it is asked whether the tunnel is still there, and how often that is tried. */
const BEAT_MS = 60_000
const BEAT_TRIES = 3

export interface Tunnel {
  /** Done when the interface has sent it on the bus. @throws Fault `device_refused`, `device_cut_off` */
  send(cemi: Uint8Array, signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

/** @param hear receives each telegram to a group that somebody else has sent */
export async function openTunnel(
  place: Place,
  context: DriverContext,
  hear: (telegram: Telegram) => void,
): Promise<Tunnel> {
  const tunnel = new OpenTunnel(context, hear)
  await tunnel.open(place)
  return tunnel
}

interface Waiting {
  isAnswer(message: KnxMessage, telegram: Telegram | undefined): boolean
  resolve(message: KnxMessage, telegram: Telegram | undefined): void
}

class OpenTunnel implements Tunnel {
  readonly #context: DriverContext
  readonly #hear: (telegram: Telegram) => void
  readonly #stopper = new AbortController()
  readonly #waiting = new Set<Waiting>()
  #connection: Connection | undefined
  #channel = 0
  #sent = 0
  #heard = 0
  /** Telegrams out of order, one after another. */
  #strays = 0
  #beat: Timer | undefined
  /** One telegram at a time: the interface takes no second before the first is acknowledged. */
  #before: Promise<unknown> = Promise.resolve()

  constructor(context: DriverContext, hear: (telegram: Telegram) => void) {
    this.#context = context
    this.#hear = hear
  }

  async open(place: Place): Promise<void> {
    this.#connection = await this.#context.connect({ kind: 'udp', ...place }, (bytes) => this.#read(bytes))
    const answer = this.#answer(({ service }) => service === CONNECT_RESPONSE, CONNECT_MS, 'gave no tunnel')
    await this.#connection.send(connectRequest(), this.#stopper.signal)
    const { message } = await answer
    if (message.status !== 0) throw new Fault('device_refused', `no tunnel: ${statusWords(message.status)}`)
    this.#channel = message.channel
    if (message.dataPort !== 0 && message.dataPort !== place.port)
      throw new Fault('device_refused', `it wants telegrams at port ${message.dataPort}, not at ${place.port}`)
    this.#context.online(true)
    this.#waitForBeat()
  }

  send(cemi: Uint8Array, signal: AbortSignal): Promise<void> {
    const sending = this.#before.then(async () => {
      signal.throwIfAborted()
      const group = readTelegram(cemi)?.group
      const confirmed = this.#answer(
        (_, told) => told?.kind === 'confirm' && told.group === group,
        CONFIRM_MS,
        'sent nothing',
      )
      // It may fail while the acknowledgement is still awaited.
      confirmed.catch(() => {})
      await this.#acknowledged(cemi)
      const { telegram } = await confirmed
      if (telegram?.isFailed) throw new Fault('device_refused', 'nothing on the bus has taken the telegram')
    })
    this.#before = sending.catch(() => {})
    return sending
  }

  /** Ends the tunnel at the interface too, which has only a few. */
  async close(): Promise<void> {
    this.#beat?.cancel()
    const bye = channelRequest(DISCONNECT_REQUEST, this.#channel)
    await this.#connection?.send(bye, this.#stopper.signal).catch(() => {})
    this.#stopper.abort(new Fault('device_cut_off', 'the tunnel is closed'))
  }

  /** Sent twice at most. @source KNX Standard 3/8/4, 2.6 */
  async #acknowledged(cemi: Uint8Array): Promise<void> {
    const sequence = this.#sent
    const frame = tunnelRequest(this.#channel, sequence, cemi)
    const isAck = (message: KnxMessage) => message.service === TUNNEL_ACK && message.sequence === sequence
    for (const isLast of [false, true]) {
      const answer = this.#answer(isAck, ACK_MS, 'did not acknowledge a telegram')
      answer.catch(() => {})
      await this.#connection?.send(frame, this.#stopper.signal)
      const told = await answer.catch((error: Error) => error)
      if (told instanceof Error) {
        if (isLast || this.#stopper.signal.aborted) this.#lose(told.message)
        continue
      }
      if (told.message.status !== 0) this.#lose(statusWords(told.message.status))
      this.#sent = (sequence + 1) & 0xff
      return
    }
  }

  #waitForBeat(): void {
    this.#beat = this.#context.clock.after(BEAT_MS, () => void this.#askWhetherThere())
  }

  /** Never rejects. */
  async #askWhetherThere(): Promise<void> {
    for (let left = BEAT_TRIES; left > 0 && !this.#stopper.signal.aborted; left--) {
      const answer = this.#answer(({ service }) => service === STATE_RESPONSE, STATE_MS, 'does not answer any more')
      answer.catch(() => {})
      try {
        await this.#connection?.send(channelRequest(STATE_REQUEST, this.#channel), this.#stopper.signal)
        const { message } = await answer
        if (message.status === 0) return this.#waitForBeat()
        left = 1
        throw new Fault('device_cut_off', statusWords(message.status))
      } catch (error) {
        if (left === 1 && !this.#stopper.signal.aborted) this.#context.online(false, (error as Error).message)
      }
    }
  }

  /** @param what the interface did not do in time */
  #answer(isAnswer: Waiting['isAnswer'], limitMs: number, what: string) {
    const { promise, resolve } = Promise.withResolvers<{ message: KnxMessage; telegram: Telegram | undefined }>()
    const waiting: Waiting = { isAnswer, resolve: (message, telegram) => resolve({ message, telegram }) }
    this.#waiting.add(waiting)
    const late = () => new Fault('device_cut_off', `the interface ${what} within ${durationText(limitMs)}`)
    const { clock } = this.#context
    return within(promise, { clock, limitMs, late, stop: this.#stopper.signal }).finally(() =>
      this.#waiting.delete(waiting),
    )
  }

  #lose(reason: string): never {
    this.#context.online(false, reason)
    throw new Fault('device_cut_off', reason)
  }

  /** @returns whether it was a message of this tunnel */
  #read(bytes: Uint8Array): boolean {
    const message = readKnxMessage(bytes)
    if (!message) return false
    if (message.service !== CONNECT_RESPONSE && message.channel !== this.#channel) return false
    if (message.service === DISCONNECT_REQUEST) {
      this.#reply(disconnectResponse(this.#channel))
      this.#context.online(false, 'the interface has ended the tunnel')
      return true
    }
    if (message.service === TUNNEL_REQUEST) return this.#readTunnelled(message)
    this.#settle(message, undefined)
    return true
  }

  /** One that was heard already is acknowledged again and not taken twice. @source KNX Standard 3/8/4, 2.6 */
  #readTunnelled(message: KnxMessage): boolean {
    const isNext = message.sequence === this.#heard
    const isAgain = message.sequence === ((this.#heard - 1) & 0xff)
    if (!isNext && !isAgain) return this.#readStray()
    this.#strays = 0
    this.#reply(tunnelAck(this.#channel, message.sequence))
    if (!isNext) return true
    this.#heard = (this.#heard + 1) & 0xff
    const telegram = readTelegram(message.cemi)
    if (!telegram) return true
    if (telegram.kind === 'indication') this.#hear(telegram)
    else this.#settle(message, telegram)
    return true
  }

  /**
   * An interface repeats what is not acknowledged, and then has to end the tunnel. Some go on instead: everything they
   * say from then on would be out of order, while they still answer that the tunnel is there.
   */
  #readStray(): boolean {
    if (++this.#strays > 1) this.#context.online(false, 'telegrams of the interface were lost on the way')
    return false
  }

  #settle(message: KnxMessage, telegram: Telegram | undefined): void {
    for (const waiting of [...this.#waiting]) {
      if (!waiting.isAnswer(message, telegram)) continue
      this.#waiting.delete(waiting)
      waiting.resolve(message, telegram)
      return
    }
  }

  /** What cannot be sent is repeated by the other side. */
  #reply(bytes: Uint8Array): void {
    void this.#connection?.send(bytes, this.#stopper.signal).catch(() => {})
  }
}
