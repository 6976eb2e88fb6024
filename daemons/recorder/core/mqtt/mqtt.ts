/** The broker that an administrator points the recorder at, and what is told through it. */
import type { MqttOutlet } from '#kit/net/mqtt/outlet.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import { createSerialTurn } from '#kit/pure/pace.ts'
import type { LicenceGate } from '../licence/licence.ts'
import { MqttPublisher, type MqttPublisherParts } from './publisher.ts'

/** What an administrator says. Never changed in place. */
export interface MqttSettings {
  readonly isEnabled: boolean
  /** mqtt://HOST:PORT or mqtts://HOST:PORT; empty: none. */
  readonly url: string
  readonly username: string
  readonly password: string | null
  /** `{id}` in it stands for the id of this recorder. */
  readonly topicPrefix: string
  /** Empty: Home Assistant is not told. */
  readonly discoveryPrefix: string
}

export interface MqttParts extends Pick<MqttPublisherParts, 'cameras' | 'clock' | 'says' | 'sources'> {
  settings: MqttSettings
  /** Resolves once they are on disk. */
  save(settings: MqttSettings): Promise<void>
  /** @throws Fault `ca_file_unreadable`, `store_damaged` */
  open(settings: MqttSettings): Promise<MqttOutlet | undefined>
  /** @throws Fault `bad_broker`, `bad_target`, `bad_topic` */
  check(settings: MqttSettings): void
  /** Undefined on a recorder that is not licensed. */
  licence: Pick<LicenceGate, 'requireFeature'> | undefined
  onFault(fault: Fault): void
}

interface Running {
  outlet: MqttOutlet
  publisher: MqttPublisher
}

/** Lives as long as the daemon. */
export class Mqtt {
  readonly #parts: MqttParts
  readonly #inTurn = createSerialTurn()
  #settings: MqttSettings
  #running: Running | undefined
  #fault: Fault | undefined

  constructor(parts: MqttParts) {
    this.#parts = parts
    this.#settings = parts.settings
  }

  settings(): MqttSettings {
    return this.#settings
  }

  /** Undefined while nothing is told. */
  outlet(): MqttOutlet | undefined {
    return this.#running?.outlet
  }

  /** Why nothing is told although it is switched on. */
  fault(): Fault | undefined {
    return this.#fault
  }

  /** Whatever is wrong with the broker or its files, recording begins. */
  async start(): Promise<void> {
    await this.#inTurn(() => this.#begin())
  }

  async stop(): Promise<void> {
    await this.#inTurn(() => this.#end())
  }

  /**
   * Takes effect at once. A new broker takes no password of the old one along.
   * @throws Fault `license_feature` for switching on, `bad_broker`, `bad_target`, `bad_topic`, `store_write_failed`
   */
  async change(wish: Partial<MqttSettings>): Promise<void> {
    await this.#inTurn(async () => {
      const before = this.#settings
      const isElsewhere = wish.url !== undefined && wish.url !== before.url
      const kept = isElsewhere ? { ...before, username: '', password: null } : before
      const next = { ...kept, ...wish }
      this.#parts.check(next)
      if (next.isEnabled && !before.isEnabled) this.#parts.licence?.requireFeature('mqtt')
      await this.#parts.save(next)
      this.#settings = next
      // Retained messages would stay at the old broker for ever: they are removed first.
      if (isElsewhere || !next.isEnabled) this.#running?.publisher.forget()
      await this.#end()
      await this.#begin()
    })
  }

  /** @throws Fault `mqtt_off`, and as `Outlet.test` */
  async test(payload: string): Promise<{ topic: string; tookMs: number }> {
    const outlet = this.outlet()
    if (!outlet) throw this.#fault ?? new Fault('mqtt_off', 'No MQTT broker is set, or it is switched off.')
    const topic = `${outlet.prefix}/test`
    return { topic, ...(await outlet.test(topic, payload)) }
  }

  async #begin(): Promise<void> {
    this.#fault = undefined
    if (!this.#settings.isEnabled) return
    try {
      const outlet = await this.#parts.open(this.#settings)
      if (!outlet) return
      const { cameras, clock, says, sources } = this.#parts
      const { discoveryPrefix } = this.#settings
      const publisher = new MqttPublisher({ cameras, clock, discoveryPrefix, outlet, says, sources })
      this.#running = { outlet, publisher }
      publisher.start()
      await outlet.part.start?.()
    } catch (cause) {
      this.#fault = faultOf(cause, 'broker_unreachable', `MQTT could not be begun: ${String(cause)}`)
      this.#parts.onFault(this.#fault)
    }
  }

  async #end(): Promise<void> {
    const running = this.#running
    this.#running = undefined
    running?.publisher.close()
    await running?.outlet.part.stop?.()
  }
}
