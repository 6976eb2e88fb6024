/** Puts together what is told through an MQTT broker. */
import { openMqttOutlet } from '#kit/net/mqtt/outlet.ts'
import type { Ledger } from '#kit/records/ledger.ts'
import type { LedgerEntry } from '#kit/records/ledger-entry.ts'
import type { AssembleContext } from '#kit/run/daemon.ts'
import { PRODUCT } from '../api/system-routes.ts'
import type { RecorderConfig } from '../config.ts'
import type { CameraBook } from '../core/cameras/book.ts'
import type { LicenceGate } from '../core/licence/licence.ts'
import { Mqtt } from '../core/mqtt/mqtt.ts'
import type { MqttSources } from '../core/mqtt/publisher.ts'
import type { Site } from '../core/site.ts'
import { checkMqttSettings, openMqttSettings } from '../io/mqtt-settings.ts'

interface MqttNeeds {
  cameras: CameraBook
  ledger: Ledger
  licence: LicenceGate | undefined
  site: Site
  /** Of what is seen; without one nothing is told of it. */
  sources: Omit<MqttSources, 'onAlarm'>
}

export async function mqttOf(context: AssembleContext<RecorderConfig>, needs: MqttNeeds): Promise<Mqtt> {
  const { clock, config, log, stateFolder, version } = context
  const { cameras, ledger, licence, site, sources } = needs
  const { save, settings } = await openMqttSettings(stateFolder, log)
  return new Mqtt({
    ...{ clock, licence, save, settings, check: checkMqttSettings, cameras: () => cameras.list() },
    sources: { ...sources, onAlarm: alarmsOf(ledger) },
    says: () => ({ name: site.name(), version, product: PRODUCT }),
    open({ password, topicPrefix, url, username }) {
      const account = { url, username, password_file: '', topic_prefix: topicPrefix }
      const mqtt = { ...config.mqtt, ...account }
      const needs = { clock, log, stateFolder, conditions: ledger, chance: Math.random }
      return openMqttOutlet({ ...needs, config: { mqtt }, password, statusLevel: 'state' })
    },
    onFault: (fault) => log.error('MQTT is not told', { fault }),
  })
}

/** Listeners of the ledger stay for good; those of MQTT come and go with its settings. */
function alarmsOf(ledger: Ledger): MqttSources['onAlarm'] {
  const listeners = new Set<(entry: LedgerEntry, event: 'opened' | 'ended') => void>()
  ledger.onTold((entry, event) => {
    for (const tell of listeners) tell(entry, event)
  })
  return (listener) => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }
}
