/** The settings form as the board describes it: which fields there are in a role, what they are called, what a save does. */
import { withArticle } from '#kit/bytes/words.ts'
import type { Values } from '#kit/web/form.ts'
import { listed } from '#kit/web/numbers.ts'
import { capital } from '#kit/web/sentences.ts'
import type { RoleName } from '../wire/names.ts'
import type { Config, ConfigForm, FieldFacts } from './api.ts'
import { roleNouns } from './words.ts'

/** What settings are called on the page; one that is not here goes by its own name in words. */
const LABELS: Readonly<Record<string, string>> = {
  name: 'Name',
  hostname: 'Host name',
  role: 'Role',
  mcast: 'Multicast address',
  port: 'Port',
  channels: 'Channels',
  encoding: 'Encoding',
  packet_ms: 'Packet time',
  audio_device: 'Sound card',
  link_ms: 'Link offset',
  ext_link_ms: 'More from outside',
  ptp_priority1: 'PTP priority 1',
  sap: 'Announce over SAP',
  static_ip: 'Fixed address',
  ip: 'Address',
  mask: 'Mask',
  gw: 'Gateway',
  serial_devices: 'Devices of ports 1 to 4',
}

/** `usb_device` reads `Usb device`. */
export function labelOf(name: string): string {
  const words = name.replaceAll('_', ' ')
  return LABELS[name] ?? capital(words)
}

/** Shown only while a switch is on. */
const NEEDS: Readonly<Record<string, string>> = { ip: 'static_ip', mask: 'static_ip', gw: 'static_ip' }

/** Groups and fields that matter in a role; a group without fields is left out. */
export function groupsFor(form: ConfigForm, values: Values): { title: string; fields: FieldFacts[] }[] {
  const role = values.role as RoleName
  const isShown = ({ name, roles }: FieldFacts): boolean => {
    const needed = NEEDS[name]
    return (!roles || roles.includes(role)) && (needed === undefined || values[needed] === true)
  }
  return form.groups
    .map(({ title, fields }) => ({ title, fields: fields.filter(isShown) }))
    .filter(({ fields }) => fields.length > 0)
}

/** Every field of every role. */
export function allFields(form: ConfigForm): FieldFacts[] {
  return form.groups.flatMap(({ fields }) => fields)
}

/** The form's values from what is saved. */
export function valuesOf(config: Config, form: ConfigForm): Values {
  return Object.fromEntries(
    allFields(form).map(({ name, kind }) => {
      const value = config[name]
      return [name, kind === 'switch' ? value === true || value === 1 || value === '1' : String(value ?? '')]
    }),
  )
}

/** Refusals of fields that this role does not show: said in a sentence, because there is no field to say them at. */
export function hiddenFaults(faults: Readonly<Record<string, string>>, shown: readonly string[]): string[] {
  return Object.entries(faults)
    .filter(([name]) => !shown.includes(name))
    .map(([name, sentence]) => `${labelOf(name)}: ${sentence}`)
}

/** What is posted: everything that was read, with what the hand changed. Settings the form does not know stay as they are. */
export function bodyOf(config: Config, values: Values): Config {
  return { ...config, ...values }
}

/** Names of the fields that differ from what is saved. */
export function changedOf(values: Values, saved: Values): string[] {
  return Object.keys(values).filter((name) => values[name] !== saved[name])
}

/** Settings by which the board is found. */
const ADDRESS = ['hostname', 'static_ip', 'ip', 'mask', 'gw']

/** What a save will do, before it does. @param isOwned whether the board sets its machine's network too */
export function consequence(values: Values, saved: Values, isOwned: boolean): string {
  const changed = changedOf(values, saved)
  if (changed.length === 0) return 'Nothing is changed.'
  const restarts = isOwned ? 'restarts the machine' : 'restarts'
  if (changed.includes('role')) {
    const noun = roleNouns[values.role as RoleName] ?? String(values.role)
    return `Saves, ${restarts}, and is ${withArticle(noun)} then. What the role before did ends.`
  }
  const moves = changed.filter((name) => ADDRESS.includes(name))
  const hasSound = values.role === 'encoder' || values.role === 'decoder'
  if (moves.length === 0)
    return `Saves and ${restarts}; ${hasSound ? 'it is silent' : 'connections end'} for that long.`
  if (!isOwned)
    return `Saves and restarts. ${listed(moves.map(labelOf))} is kept; this machine's network is set elsewhere.`
  if (values.static_ip === true && moves.some((name) => name !== 'hostname'))
    return `Saves, ${restarts} and moves to ${String(values.ip) || 'the new address'}; this page follows. If nobody reaches it there within two minutes, it asks DHCP for an address.`
  return `Saves and ${restarts}; this page follows to the new name.`
}
