/**
 * Settings: one form, built from the board's description of its settings. A save restarts the board, and the page
 * follows it.
 */
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { withArticle } from '#kit/pure/text.ts'
import { useLook } from '#kit/web/call.ts'
import { choice, type Form, input, refusal, toggle, useForm, type Values } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { firstAnswer } from '#kit/web/lazy.ts'
import { capital, listed, sentence } from '#kit/web/numbers.ts'
import { Act, toast } from '#kit/web/parts.ts'
import { useRevision } from '#kit/web/revision.ts'
import { TypeToConfirm } from '#kit/web/type-to-confirm.ts'
import type { RoleName } from '../wire/names.ts'
import { api, type Config, type ConfigForm, type FieldFacts, type Status } from './api.ts'
import { type AddressSettings, awaitRestart, placesAfter, status } from './state.ts'
import * as texts from './texts.ts'
import { roleNouns, roleSentences, roleTitles } from './words.ts'

// The saved settings and their form, for the pages that change them.

/** Asked repeatedly only until both answers have come. */
const AGAIN_MS = 3000

/** @returns the saved settings once known, and what the page shows until then */
export function useSettings(): { known: { config: Config; form: ConfigForm } | null; words: VNode } {
  const [known, setKnown] = useState<{ config: Config; form: ConfigForm } | null>(null)
  const { refused } = useLook(async () => {
    if (known) return
    // The form with its revision comes first: if the settings change after it, a save is refused instead of overwriting
    // them.
    const form = await api.configForm()
    const config = await api.config()
    setKnown({ config, form })
  }, AGAIN_MS)
  const words = firstAnswer(refused, texts.askingBoardForSettings, texts.settingsCouldNotBeRead)
  return { known, words }
}

// The settings form as the board describes it: fields of a role, their labels, and what a save does.

/** Labels of settings; a setting without one is shown by its key, in words. */
const LABELS: Readonly<Record<string, string>> = {
  name: texts.name,
  hostname: texts.hostName,
  role: 'Role',
  mcast: texts.multicastAddress,
  port: texts.port,
  channels: texts.channels,
  encoding: texts.encoding,
  packet_ms: texts.packetTime,
  audio_device: texts.soundCard,
  link_ms: texts.linkOffset,
  ext_link_ms: texts.moreFromOutside,
  ptp_priority1: texts.ptpPriority1,
  sap: texts.announceOverSap,
  static_ip: texts.fixedAddress,
  ip: texts.address,
  mask: texts.mask,
  gw: texts.gateway,
  dns: texts.nameServers,
  serial_devices: texts.serialDevicesMeans,
}

/** `usb_device` reads `Usb device`. */
export function labelOf(name: string): string {
  const words = name.replaceAll('_', ' ')
  return LABELS[name] ?? capital(words)
}

/** Shown only while a switch is on. */
const NEEDS: Readonly<Record<string, string>> = {
  ip: 'static_ip',
  mask: 'static_ip',
  gw: 'static_ip',
  dns: 'static_ip',
}

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
function allFields(form: ConfigForm): FieldFacts[] {
  return form.groups.flatMap(({ fields }) => fields)
}

/** The form's values from what is saved. */
export function configValues(config: Config, form: ConfigForm): Values {
  return Object.fromEntries(
    allFields(form).map(({ name, kind }) => {
      const value = config[name]
      return [name, kind === 'switch' ? value === true || value === 1 || value === '1' : String(value ?? '')]
    }),
  )
}

/** Refusals of fields hidden in this role: shown as a sentence, since there is no field to show them at. */
export function hiddenFaults(faults: Readonly<Record<string, string>>, shown: readonly string[]): string[] {
  return Object.entries(faults)
    .filter(([name]) => !shown.includes(name))
    .map(([name, sentence]) => `${labelOf(name)}: ${sentence}`)
}

/** The posted form: all settings as read, with the user's changes. Settings unknown to the form stay as they are. */
export function configBody(config: Config, values: Values): Config {
  return { ...config, ...values }
}

/** Names of the fields that differ from what is saved. */
export function changedOf(values: Values, saved: Values): string[] {
  return Object.keys(values).filter((name) => values[name] !== saved[name])
}

/** Settings by which the board is found. */
const ADDRESS = ['hostname', 'static_ip', 'ip', 'mask', 'gw', 'dns']

/** Says what saving will do. @param isOwned whether the board also configures its machine's network */
export function consequence(values: Values, saved: Values, isOwned: boolean): string {
  const changed = changedOf(values, saved)
  if (changed.length === 0) return texts.nothingIsChanged
  const restarts = isOwned ? texts.restartsMachine : texts.restartsOnly
  if (changed.includes('role')) {
    const noun = roleNouns[values.role as RoleName] ?? String(values.role)
    return texts.savingTurns(restarts, withArticle(noun))
  }
  const moves = changed.filter((name) => ADDRESS.includes(name))
  const hasSound = values.role === 'encoder' || values.role === 'decoder'
  if (moves.length === 0) return texts.savingRestarts(restarts, hasSound)
  if (!isOwned) return texts.savingKeepsNetwork(listed(moves.map(labelOf)))
  if (values.static_ip === true && moves.some((name) => name !== 'hostname'))
    return texts.savingMoves(restarts, String(values.ip) || texts.theNewAddress)
  return texts.savingRenames(restarts)
}

// The page.

/** The page; the form is shown once the saved settings are known. */
export function SettingsPage(): VNode {
  const { known, words } = useSettings()
  const now = status.value
  if (known && now) return html`<${Known} config=${known.config} form=${known.form} status=${now} />`
  return html`<h1 class="sr">Settings</h1><section class="panel">${words}</section>`
}

interface KnownProps {
  config: Config
  form: ConfigForm
  status: Status
}

function Known({ config, form: facts, status: board }: KnownProps): VNode {
  const [saved, setSaved] = useState(config)
  const form = useForm(configValues(config, facts), 'edit')
  const revision = useRevision(facts.revision)
  const [isAsking, setAsking] = useState(false)
  const values = form.values.value
  const before = configValues(saved, facts)
  const changed = changedOf(values, before)

  async function save(): Promise<void> {
    const body = configBody(saved, values)
    const startedAt = board.started_at
    const { about_s: aboutS } = await revision.save((ifMatch) => api.saveConfig(body, ifMatch))
    setSaved(body)
    form.settle(values)
    const places = board.machine.owned ? placesAfter(addressOf(values), addressOf(before), location) : []
    awaitRestart({ what: texts.saved, startedAt, aboutS, places })
  }
  function submit(event?: Event): void {
    event?.preventDefault()
    if (changed.length === 0) return
    if (changed.includes('role')) setAsking(true)
    else void form.submit(save)
  }
  function discard(): void {
    if (changed.length === 0) return
    form.settle(before)
    toast(texts.discarded(changed.length), () => restore(form, values))
  }
  const groups = groupsFor(facts, values)
  const shown = groups.flatMap(({ fields }) => fields.map(({ name }) => name))
  const hidden = hiddenFaults(form.faults.value, shown)
  useSaveKey(submit)
  useKeys(texts.settings, [
    { key: texts.ctrlS, what: texts.savesAndRestarts, run: () => false },
    { key: 'Escape', what: texts.discards, run: () => void discard() },
  ])
  return html`<h1 class="sr">Settings</h1><p class="lead">${consequence(values, before, board.machine.owned)}</p>
    <form class="panel settings" onSubmit=${submit} novalidate><div class="in stack">
      ${groups.map(
        ({ title, fields }) =>
          html`<section class="group" key=${title}><h2>${title}</h2><div class="form">${fields.map((field) => drawn(field, form, facts.roles))}</div></section>`,
      )}</div>
      <footer class="save">${refusal(form, hidden)}<p class="small soft">${changed.length === 0 ? texts.nothingIsChanged : `${texts.someChanged(changed.length)}${Object.keys(form.faults.value).length > 0 ? texts.notSaved : ''}`}</p><div class="acts">
        <button class="btn quiet" type="button" disabled=${changed.length === 0} onClick=${discard}>Discard</button>
        <${Act} kind="primary" type="submit" waits=${form.isBusy.value || changed.length === 0}>Save and restart</${Act}></div></footer></form>
    ${isAsking ? askRole({ board, role: String(values.role), form, save, close: () => setAsking(false) }) : null}`
}

function addressOf({ static_ip: isFixed, ip, hostname }: Values): AddressSettings {
  return { static_ip: isFixed === true, ip: String(ip ?? ''), hostname: String(hostname ?? '') }
}

/** Restores changes that were discarded by mistake. */
function restore(form: Form, values: Values): void {
  form.values.value = values
}

function useSaveKey(save: () => void): void {
  const latest = useRef(save)
  latest.current = save
  useEffect(() => {
    function onKey(event: KeyboardEvent): void {
      if (event.key !== 's' || !(event.ctrlKey || event.metaKey) || document.querySelector('dialog[open]')) return
      event.preventDefault()
      latest.current()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
}

interface RoleQuestion {
  board: Status
  role: string
  form: Form
  save: () => Promise<void>
  close: () => void
}

/** Changing the role stops what the board does, and others rely on it: the user types its name first. */
function askRole({ board, role, form, save, close }: RoleQuestion): VNode {
  const before = roleNouns[board.role]
  const after = roleNouns[role as RoleName]
  async function run(): Promise<void> {
    close()
    await form.submit(save)
  }
  return html`<${TypeToConfirm} title=${texts.turnInto(board.name || board.hostname, withArticle(after))}
    text=${texts.turningMeans(withArticle(before), board.machine.owned)}
    name=${board.hostname} act=${texts.settingsTurnInto(after)} keep=${texts.keep(before)} run=${run} close=${close} />`
}

function drawn(field: FieldFacts, form: Form, roles: ConfigForm['roles']): VNode {
  const { name, kind, meaning, unit } = field
  const facts = { form, name, label: labelOf(name), hint: sentence(meaning) }
  if (name === 'role') return choice({ ...facts, options: optionsOf(field), hint: roleHint(form, roles), kind: 'wide' })
  if (kind === 'switch') return toggle({ ...facts, kind: 'wide' })
  if (kind === 'choice') return choice({ ...facts, options: optionsOf(field) })
  return input({
    ...facts,
    type: kind === 'number' ? 'number' : 'text',
    mono: kind === 'address' || isPath(name),
    ...(isPath(name) ? { kind: 'wide' } : {}),
    ...(unit ? { unit } : {}),
    ...(kind === 'number' || field.default === null ? {} : { placeholder: String(field.default) }),
  })
}

/** Whether it is a list of paths, which needs a whole row. */
function isPath(name: string): boolean {
  return name.endsWith('_devices')
}

/** The purpose of the chosen role, and what this machine lacks for it. */
function roleHint({ values }: Form, roles: ConfigForm['roles']): string {
  const role = values.value.role as RoleName
  return `${roleSentences[role]} ${roles.find((each) => each.role === role)?.text ?? ''}`
}

function optionsOf({ name, choices = [] }: FieldFacts): (readonly [string, string])[] {
  return choices.map((each) => [String(each), name === 'role' ? roleTitles[each as RoleName] : String(each)])
}
