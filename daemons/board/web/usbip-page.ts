/** USB/IP: which host has the device, whether it is shared, and with whom. */
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { sentenceOf, useLook } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { copyText } from '#kit/web/copy-and-save.ts'
import { Confirm } from '#kit/web/dialog.ts'
import { factTable } from '#kit/web/figures.ts'
import { choice, input, refusal, toggle, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { firstAnswer } from '#kit/web/lazy.ts'
import { age, bytesText, sinceText } from '#kit/web/numbers.ts'
import { Act, icon, type Lit, lamp, say, toast, verdict } from '#kit/web/parts.ts'
import { api, type UsbDevice, type UsbipState } from './api.ts'
import { status } from './state.ts'
import * as texts from './texts.ts'
import { litOf } from './words.ts'

// The USB server: the device, the host that uses it, and the commands for a host.

/** The name of a device: its maker and product, else its numbers. */
export function usbName(device: UsbDevice): string {
  return device.product || [device.vendor, usbNumbers(device)].filter(Boolean).join(' ')
}

/** `0922:8003`. */
function usbNumbers({ vendor_id: vendor, product_id: product }: UsbDevice): string {
  return `${vendor}:${product}`
}

/** Lamp of the link: a host has the device, it waits for one, or there is no device. */
export function linkLit({ supported, enabled, device, attached }: UsbipState): Lit {
  if (!supported || !enabled) return 'off'
  if (!device) return 'gone'
  if (device.state === 'failed') return 'fault'
  return attached ? 'ok' : 'busy'
}

const STATES: Readonly<Record<string, string>> = {
  local: texts.notShared,
  binding: texts.beingPrepared,
  exported: texts.waitsForHost,
  handing: texts.beingHandedOver,
  attached: texts.hostHas,
  freeing: texts.beingFreed,
  releasing: texts.beingGivenBack,
  failed: texts.cannotBeShared,
}

/** State of a device in a few words, preceded by what the board itself would lose with it. */
export function usbStateText({ state, carries, attached }: UsbDevice): string {
  if (attached) return texts.has(attached.address)
  if (state === 'local' && carries === 'network') return texts.boardsNetwork
  if (state === 'local' && carries === 'disk') return texts.diskBoardUses
  return STATES[state] ?? state
}

/** Choices for sharing: the first device plugged in, each device by its key, and a chosen one that is missing. */
export function deviceOptions({ choice, devices }: UsbipState): (readonly [key: string, label: string])[] {
  const known = devices.map((device) => [device.key, `${usbName(device)}, ${usbNumbers(device)}`] as const)
  const isThere = choice === '' || devices.some(({ key }) => key === choice)
  return [['', texts.firstIsPlugged], ...known, ...(isThere ? [] : [[choice, texts.usbipNotPlugged(choice)] as const])]
}

/** The command a host runs once, as administrator: it fetches this board's script and runs it. */
export function hostCommands(origin: string): { sh: string; ps1: string } {
  return { sh: `curl -fsS ${origin}/usbip.sh | sudo sh`, ps1: `irm ${origin}/usbip.ps1 | iex` }
}

// Whether the device is shared, and with whom. Applied at once and saved.

function valuesOf({ enabled, allow, choice }: UsbipState): { enabled: boolean; allow: string; device: string } {
  return { enabled, allow, device: choice }
}

/** The form. */
function UsbipForm({ state, again }: { state: UsbipState; again: () => Promise<void> }): VNode {
  const form = useForm(valuesOf(state), 'edit')
  const isChanged = form.isChanged('enabled') || form.isChanged('allow') || form.isChanged('device')
  // Changes made elsewhere are shown here too, unless the user is typing.
  useEffect(() => {
    if (!isChanged) form.settle(valuesOf(state))
  }, [state.enabled, state.allow, state.choice])

  async function save(): Promise<void> {
    const { enabled, allow, device } = form.values.value
    form.settle(
      valuesOf(await api.setUsbip({ enabled: enabled === true, allow: String(allow), device: String(device) })),
    )
    await again()
  }
  async function submit(event: Event): Promise<void> {
    event.preventDefault()
    if (await form.submit(save))
      toast(form.values.value.enabled === true ? texts.deviceIsShared : texts.deviceIsNotShared)
  }
  return html`<form class="panel" aria-label="Sharing" onSubmit=${(event: Event) => void submit(event)} novalidate><header><h2>Sharing</h2></header>
    <div class="in stack">${toggle({ form, name: 'enabled', label: texts.shareDevice, hint: state.supported ? undefined : texts.keptForDaySystemCan })}
      ${choice({ form, name: 'device', label: texts.device, options: deviceOptions(state), kind: 'wide' })}
      ${input({ form, name: 'allow', label: texts.allowedAddresses, mono: true, kind: 'wide', placeholder: texts.allowExample, hint: texts.allowHint })}${refusal(form)}</div>
    <footer class="save"><p class="small soft grow">${form.isChanged('enabled') && form.values.value.enabled !== true && state.attached ? texts.losesDeviceAtOnce(state.attached.address) : texts.appliedAtOnceAndSaved}</p>
      <${Act} type="submit" waits=${form.isBusy.value || !isChanged}>Save</${Act}></footer></form>`
}

// The page.

const LOOK_USB_MS = 1000

/** The page. */
export function UsbipPage(): VNode {
  const [state, setState] = useState<UsbipState | null>(null)
  const [isAsking, setAsking] = useState(false)
  const seen = useRef<UsbDevice | null>(null)
  if (state?.device) seen.current = state.device
  const look = useLook(async () => setState(await api.usbip()), LOOK_USB_MS)
  const commands = hostCommands(location.origin)
  useKeys(texts.usbServer, [
    { key: 'd', what: texts.detachesHostAsksFirst, run: () => (state?.attached ? void setAsking(true) : false) },
    {
      key: 'c',
      what: texts.copiesHostsCommand,
      run: () => void copyText(commands.sh, texts.commandForLinuxIsCopied),
    },
  ])
  const judged = status.value?.verdict
  return html`<h1 class="sr">USB server</h1>${judged ? verdict({ lit: litOf(judged.state), sentence: judged.text }) : null}
    ${body(state, look.refused, { ask: () => setAsking(true), again: look.again, seen: seen.current })}
    ${isAsking && state?.attached ? asked(state, () => setAsking(false), look.again) : null}`
}

interface Hands {
  ask: () => void
  again: () => Promise<void>
  /** The last device: its name stays when it is unplugged. */
  seen: UsbDevice | null
}

function body(state: UsbipState | null, refused: string | null, { ask, again, seen }: Hands): Child {
  if (state === null) {
    const words = firstAnswer(refused, texts.askingBoardForDevice, texts.deviceCouldNotBeRead)
    return html`<section class="panel">${words}</section>`
  }
  return html`${state.supported ? link(state, seen, ask) : null}<div class="pair"><div class="stack">${state.device ? deviceFacts(state.device) : null}<${UsbipForm} state=${state} again=${again} /></div>
    <div class="stack">${state.supported ? hostPanel() : null}${plugged(state)}${lastError(state)}</div></div>`
}

/** Device, line, host. */
function link(state: UsbipState, seen: UsbDevice | null, ask: () => void): VNode {
  const { attached, traffic } = state
  const lit = linkLit(state)
  const numbers = traffic
    ? html`in ${bytesText(traffic.in_bytes)} · out ${bytesText(traffic.out_bytes)}`
    : html`<span class="faint">${holdText(state)}</span>`
  return html`<section class="usb-link" aria-label="Device, line, host" data-s=${lit}>
    <div class="panel end-of">${deviceEnd(state, seen)}</div>
    <div class="usb-way"><span class="wire">${lamp(lit)}</span><span class="small">${numbers}</span></div>
    <div class="panel end-of">${
      attached
        ? html`<b class="mono">${attached.address}</b><span class="faint">since ${sinceText(attached.since_at, daemonNow(), zone.value)}, ${age(Math.max(1000, daemonNow() - attached.since_at))}</span>
          <${Act} run=${ask}>Detach</${Act}>`
        : html`<b class="faint">No host</b><span class="faint">${state.enabled ? texts.nobodyHas : texts.sharingIsOff}</span>`
    }</div></section>`
}

function deviceEnd({ device, choice }: UsbipState, seen: UsbDevice | null): Child {
  if (device) return html`<b>${usbName(device)}</b><span class="faint mono">${usbNumbers(device)}</span>`
  const why = choice === '' ? texts.nothingToShare : texts.isNotPlugged(choice)
  return html`<b class="faint">${seen ? usbName(seen) : texts.noDevice}</b><span class="faint">${why}</span>`
}

function holdText({ hold_until: until, device }: UsbipState): string {
  if (until !== null && until > daemonNow()) return texts.heldOff(age(until - daemonNow()))
  return device ? usbStateText(device) : ''
}

function asked(state: UsbipState, close: () => void, again: () => Promise<void>): VNode {
  const name = state.device ? usbName(state.device) : texts.usbipDevice
  const host = state.attached?.address ?? texts.host
  async function run(): Promise<void> {
    try {
      await api.setUsbip({ detach: '1' })
      toast(texts.wasTaken(name, host))
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
    await again()
  }
  return html`<${Confirm} title=${texts.takeFrom(name, host)} text=${texts.takingMeans(host)}
    act="Detach" keep="Leave it there" close=${close} run=${() => void run()} />`
}

function deviceFacts(device: UsbDevice): VNode {
  const rows: [string, Child][] = [
    [texts.maker, device.vendor],
    [texts.product, device.product],
    [texts.serialNumber, device.serial],
    [texts.kind, device.class],
    [texts.speed, device.speed],
    [texts.pluggedIn, device.busid],
  ]
  const known = rows.filter(([, value]) => value !== null && value !== '')
  return html`<section class="panel" aria-label="Device"><header><h2>Device</h2><span class="faint mono">${usbNumbers(device)}</span></header>${factTable(known)}</section>`
}

/** Steps on the computer that will use the device. */
function hostPanel(): VNode {
  const { sh, ps1 } = hostCommands(location.origin)
  const row = (name: string, command: string): VNode =>
    html`<div class="stack tight-stack"><h3 class="small">${name}</h3><div class="copy"><code tabindex="0">${command}</code>
      <button class="btn" type="button" aria-label=${texts.copyCommand(name)} onClick=${() => void copyText(command, texts.commandForIsCopied(name))}>${icon('copy')}Copy</button></div></div>`
  return html`<section class="panel" aria-label="Host"><header><h2>At the computer that is to have it</h2></header>
    <div class="in stack"><p class="small soft">Once, as an administrator. It installs what is missing, takes the device, and keeps it over restarts of both.</p>
    ${row(texts.linux, sh)}${row(texts.windows, ps1)}</div></section>`
}

/** All plugged-in devices, if there are more than the one above. */
function plugged({ devices, device }: UsbipState): Child {
  const others = devices.filter(({ busid }) => busid !== device?.busid)
  if (others.length === 0) return null
  return html`<section class="panel" aria-label="Plugged in"><header><h2>Also plugged in</h2></header>${factTable(
    others.map((each) => [
      usbName(each),
      html`<span class="mono faint">${usbNumbers(each)}</span> ${usbStateText(each)}`,
    ]),
  )}</section>`
}

function lastError({ last_error: error }: UsbipState): Child {
  if (!error) return null
  return html`<section class="panel" aria-label="Last error">${say('warn', texts.lastError(sinceText(error.at, daemonNow(), zone.value)), error.message)}</section>`
}
