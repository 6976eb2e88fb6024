/** Boards, gateways and recorders that announce themselves on the network; each becomes a device by one button. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { NoContact, sentenceOf } from '#kit/web/call.ts'
import { isLost } from '#kit/web/contact.ts'
import { Dialog } from '#kit/web/dialog.ts'
import { input, refusal, useForm } from '#kit/web/form.ts'
import { html } from '#kit/web/html.ts'
import { firstAnswer } from '#kit/web/lazy.ts'
import { count } from '#kit/web/numbers.ts'
import { Act, chip, say, toast } from '#kit/web/parts.ts'
import { linkTo } from '#kit/web/route.ts'
import { api, type Found, type FoundDaemon, type FoundRoot } from './api.ts'
import * as texts from './texts.ts'

/** What is found on the network. Looks when it is opened, when contact is back, and when it is asked to. */
export function FoundPanel(): VNode {
  const [found, setFound] = useState<Found | null>(null)
  const [refused, setRefused] = useState<string | null>(null)
  const [chosen, setChosen] = useState<FoundDaemon | null>(null)
  async function look(): Promise<void> {
    try {
      setFound(await api.found())
      setRefused(null)
    } catch (thrown) {
      if (!(thrown instanceof NoContact)) setRefused(sentenceOf(thrown))
    }
  }
  const isBack = !isLost.value
  useEffect(() => {
    if (isBack) void look()
  }, [isBack])
  const fresh = found?.found.filter(({ device }) => device === null).length ?? 0
  const lit =
    found === null ? null : chip(fresh === 0 ? 'off' : 'ok', fresh === 0 ? texts.nothing : texts.newOnes(count(fresh)))
  return html`<section class="panel narrow-panel" aria-label="Found on the network"><header><h2>Found on the network</h2>${lit}</header>
    ${found === null ? firstAnswer(refused, texts.lookingAround, texts.networkCouldNotBeLookedAt, () => void look()) : list(found, setChosen)}
    <p class="in end"><${Act} kind="quiet" run=${() => void look()}>Look again</${Act}></p></section>
    ${chosen === null ? null : html`<${Adopt} daemon=${chosen} close=${() => setChosen(null)} done=${() => void look()} />`}`
}

function list({ looking, found }: Found, choose: (daemon: FoundDaemon) => void): VNode {
  if (!looking) return say('off', texts.notLooking, texts.howToLook)
  if (found.length === 0) return say('off', texts.nobodyIsFound, texts.whyNobodyIsFound)
  return html`<table class="table fold no-lit"><thead><tr><th>Name</th><th>What and where</th><th>Device</th></tr></thead>
    <tbody>${found.map((daemon) => row(daemon, choose))}</tbody></table>`
}

function row(daemon: FoundDaemon, choose: (daemon: FoundDaemon) => void): VNode {
  const { id, name, role, address, port, host, version } = daemon
  const place = host === '' ? `${address}:${port}` : `${host} (${address}:${port})`
  return html`<tr key=${id}><td class="name">${name}</td>
    <td class="setup">${texts.roleNames[role] ?? role}, ${place}${version === null ? '' : `, ${version}`}</td>
    <td class="when">${act(daemon, () => choose(daemon))}</td></tr>`
}

function act({ name, device, tls }: FoundDaemon, choose: () => void): VNode {
  if (device && !device.moved) {
    const known = html`<span class="soft">${texts.isDevice(device.name)}</span>`
    if (!tls) return known
    const kind = device.has_root ? 'quiet' : ''
    return html`${known} <${Act} kind=${kind} label=${texts.compareRootOf(name)} run=${choose}>${texts.compareRoot}</${Act}>`
  }
  const label = device ? texts.follow(name) : texts.adopt(name)
  return html`<${Act} label=${label} run=${choose}>${device ? texts.takeAddress : texts.adoptShort}</${Act}>`
}

interface AdoptProps {
  daemon: FoundDaemon
  close(): void
  done(): void
}

/** A device that has moved keeps the root CA it has. */
function needsRoot({ tls, device }: FoundDaemon): boolean {
  return tls && !(device?.moved && device.has_root)
}

/** Asks for a name and for its password or key; for one that speaks HTTPS, asks somebody to compare its root CA. */
function Adopt({ daemon, close, done }: AdoptProps): VNode {
  const { id, name, device } = daemon
  const form = useForm({ name, secret: '' })
  const [root, setRoot] = useState<FoundRoot | null>(null)
  const [refused, setRefused] = useState<string | null>(null)
  async function lookAtRoot(): Promise<void> {
    setRefused(null)
    try {
      setRoot(await api.foundRoot(id))
    } catch (thrown) {
      setRefused(sentenceOf(thrown))
    }
  }
  const isCompared = needsRoot(daemon)
  useEffect(() => {
    if (isCompared) void lookAtRoot()
  }, [])
  async function save(): Promise<void> {
    const { name: typed, secret } = form.values.value
    await api.adopt({
      id,
      ...(device ? {} : { name: String(typed) }),
      ...(device || secret === '' ? {} : { secret: String(secret) }),
      ...(isCompared && root ? { fingerprint: root.fingerprint } : {}),
    })
  }
  async function submit(event: Event): Promise<void> {
    event.preventDefault()
    if (!(await form.submit(save))) return
    close()
    done()
    toast(texts.waitsForApplyAll(device?.name ?? name))
  }
  const isSame = root !== null && root.adopted === root.fingerprint
  const act = device?.moved ? texts.takeAddress : device ? texts.adoptRoot : texts.adoptShort
  return html`<${Dialog} title=${titleOf(daemon)} close=${close}>
    <form onSubmit=${(event: Event) => void submit(event)} novalidate><div class="stack">${fieldsOf(daemon, form)}
      ${isCompared ? rootPart(daemon.driver, root, refused, () => void lookAtRoot()) : null}
      <p class="small soft">It becomes real with Apply All on the page <a href=${linkTo('pending')} onClick=${close}>Pending</a>.</p>${refusal(form)}</div>
      <footer><button class="btn quiet" type="button" onClick=${close}>${texts.leaveIt}</button>
      <${Act} kind="primary" type="submit" waits=${form.isBusy.value || (isCompared && (root === null || (isSame && !device?.moved)))}>${act}</${Act}></footer></form>
  </${Dialog}>`
}

function titleOf({ name, device }: FoundDaemon): string {
  if (!device) return texts.adopt(name)
  return device.moved ? texts.follow(name) : texts.compareRootOf(name)
}

function fieldsOf({ address, port, device, driver }: FoundDaemon, form: ReturnType<typeof useForm>): VNode | null {
  if (device?.moved) return html`<p class="soft">${texts.isAtAnotherAddress(device.name, `${address}:${port}`)}</p>`
  if (device) return null
  const secret = { name: 'secret', type: 'password', autocomplete: 'new-password', ...texts.secrets[driver] } as const
  return html`${input({ form, name: 'name', label: texts.name, hint: texts.deviceNameHint, first: true })}${input({ form, ...secret })}
      ${driver === 'recorder' ? html`<p class="small soft">${texts.camerasBecomeZones}</p>` : null}`
}

/** An attacker in between could hand out a root CA of their own; only a look at the daemon itself shows that. */
function rootPart(driver: string, root: FoundRoot | null, refused: string | null, again: () => void): VNode {
  if (root === null) return firstAnswer(refused, texts.askingForRoot(driver), texts.rootCouldNotBeRead, again)
  const { adopted, fingerprint } = root
  const verdict =
    adopted === null
      ? say('warn', texts.compareFingerprint(driver), texts.compareFingerprintHow(driver))
      : adopted === fingerprint
        ? say('ok', texts.sameRoot, texts.sameRootMeans)
        : say('fault', texts.otherRoot, texts.otherRootMeans(adopted, driver))
  return html`${verdict}<p class="tested mono" aria-label=${texts.fingerprintOfRoot}>${fingerprint}</p>`
}
