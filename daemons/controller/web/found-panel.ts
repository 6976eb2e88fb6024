/** Boards and gateways that announce themselves on the network; each becomes a device by one button. */
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
import { api, type Found, type FoundDaemon } from './api.ts'
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

function act({ name, device }: FoundDaemon, choose: () => void): VNode {
  if (device && !device.moved) return html`<span class="soft">${texts.isDevice(device.name)}</span>`
  const label = device ? texts.follow(name) : texts.adopt(name)
  return html`<${Act} label=${label} run=${choose}>${device ? texts.takeAddress : texts.adoptShort}</${Act}>`
}

interface AdoptProps {
  daemon: FoundDaemon
  close(): void
  done(): void
}

/** Asks for its name, and for what it lets this controller in with. */
function Adopt({ daemon, close, done }: AdoptProps): VNode {
  const { id, name, driver, device } = daemon
  const form = useForm({ name, secret: '' })
  async function save(): Promise<void> {
    const { name: typed, secret } = form.values.value
    await api.adopt(device ? { id } : { id, name: String(typed), ...(secret === '' ? {} : { secret: String(secret) }) })
  }
  async function submit(event: Event): Promise<void> {
    event.preventDefault()
    if (!(await form.submit(save))) return
    close()
    done()
    toast(texts.waitsForApplyAll(device?.name ?? name))
  }
  const isBoard = driver === 'board'
  const fields = device
    ? html`<p class="soft">${texts.isAtAnotherAddress(device.name, `${daemon.address}:${daemon.port}`)}</p>`
    : html`${input({ form, name: 'name', label: texts.name, hint: texts.deviceNameHint, first: true })}
      ${input({ form, name: 'secret', type: 'password', autocomplete: 'new-password', label: isBoard ? texts.passwordOfBoard : texts.keyOfGateway, hint: isBoard ? texts.passwordOfBoardHint : texts.keyOfGatewayHint })}`
  return html`<${Dialog} title=${device ? texts.follow(name) : texts.adopt(name)} close=${close}>
    <form onSubmit=${(event: Event) => void submit(event)} novalidate><div class="stack">${fields}
      <p class="small soft">It becomes real with Apply All on the page <a href=${linkTo('pending')} onClick=${close}>Pending</a>.</p>${refusal(form)}</div>
      <footer><button class="btn quiet" type="button" onClick=${close}>${texts.leaveIt}</button>
      <${Act} kind="primary" type="submit" waits=${form.isBusy.value}>${device ? texts.takeAddress : texts.adoptShort}</${Act}></footer></form>
  </${Dialog}>`
}
