/** One installation: its name, channel and whether it is enabled; what it told, and what became of versions there. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { doneOrSaid } from '#kit/web/asked.ts'
import { useLook } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { copyText } from '#kit/web/copy-and-save.ts'
import { factTable } from '#kit/web/figures.ts'
import { choice, type Form, input, refusal, toggle, useForm, type Values } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { firstAnswer } from '#kit/web/lazy.ts'
import { listed, sinceText, UNKNOWN } from '#kit/web/numbers.ts'
import { Act, icon, lamp, say, toast } from '#kit/web/parts.ts'
import { linkTo } from '#kit/web/route.ts'
import { type Channel, type Installation, type InstallationBody, installationsApi } from './api.ts'
import * as texts from './texts.ts'
import { deliveryText, nameOf, releaseName, shunned, type When } from './words.ts'

const LOOK_MS = 5000

interface PanelFacts {
  id: string
  /** Asks for the list again. */
  again: () => Promise<void>
}

/** The panel beside the list. */
export function InstallationPanel({ again, id }: PanelFacts): VNode {
  // Undefined until the first answer, null if there is none of this id.
  const [one, setOne] = useState<Installation | null>()
  const look = useLook(async () => {
    const { installations } = await installationsApi.list({ q: id, limit: 10 })
    setOne(installations.find((each) => each.id === id) ?? null)
  }, LOOK_MS)
  if (!one) {
    const body =
      one === null
        ? say('off', texts.noSuchInstallation, texts.itWasForgotten)
        : firstAnswer(look.refused, texts.askingInstallations, texts.installationsNotRead)
    return html`<section class="panel" aria-label="Installation">${head(texts.installation)}${body}</section>`
  }
  const all = async (): Promise<void> => {
    await Promise.all([look.again(), again()])
  }
  const when = { nowMs: daemonNow(), zone: zone.value }
  return html`<div class="stack"><${InstallationForm} one=${one} again=${all} />
    <section class="panel" aria-label=${texts.lastUpdates}><header><h2>${texts.lastUpdates}</h2></header>${deliveries(one, { when, again: all })}</section>
    <section class="panel" aria-label=${texts.whatItTold}><header><h2 class="grow">${texts.whatItTold}</h2><div class="acts"><button class="btn quiet" type="button" onClick=${() => void copyText(one.id, texts.idIsCopied)}>${texts.copyId}</button></div></header>${facts(one, when)}</section></div>`
}

function head(title: string): VNode {
  return html`<header><h2>${title}</h2><div class="acts"><a class="btn quiet icon" href=${linkTo('installations')} aria-label="Close installation">${icon('close')}</a></div></header>`
}

function InstallationForm({ again, one }: { one: Installation; again: () => Promise<void> }): VNode {
  const form = useForm(valuesOf(one), 'edit')
  // It may be enabled in the list, or by somebody else.
  useEffect(() => {
    if (!form.hasChanges()) form.settle(valuesOf(one))
  }, [one.name, one.channel, one.state])
  async function save(): Promise<void> {
    const changed = await installationsApi.change(one.id, bodyOf(form))
    form.settle()
    toast(texts.installationIsSaved(nameOf(changed)))
    await again()
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(save)
  }
  const channels = [
    ['', texts.asItAsks(one.asked_channel ?? 'stable')],
    ['stable', texts.channelNames.stable],
    ['beta', texts.channelNames.beta],
  ] as const
  return html`<form class="panel" onSubmit=${submit} novalidate aria-label=${nameOf(one)}>${head(nameOf(one))}
    <div class="in stack">
      ${input({ form, name: 'name', label: texts.name, hint: texts.nameHint, placeholder: texts.nameExample })}
      ${choice({ form, name: 'channel', label: texts.channel, options: channels, hint: texts.channelHint })}
      ${toggle({ form, name: 'enabled', label: texts.getsUpdates, hint: one.state === 'pending' ? texts.pendingHint : undefined })}${refusal(form)}</div>
    <footer class="save"><${Act} kind="primary" type="submit" waits=${form.isBusy.value || !form.hasChanges()}>${texts.save}</${Act}></footer></form>`
}

function valuesOf({ channel, name, state }: Installation): Values {
  return { name: name ?? '', channel: channel ?? '', enabled: state === 'enabled' }
}

/** Only what was changed: one that waits goes on waiting while it is named. */
function bodyOf({ isChanged, values }: Form): InstallationBody {
  const { channel, enabled, name } = values.value
  return {
    ...(isChanged('name') && { name: String(name).trim() || null }),
    ...(isChanged('channel') && { channel: channel === '' ? null : (channel as Channel) }),
    ...(isChanged('enabled') && { enabled: enabled === true }),
  }
}

interface Around {
  when: When
  again: () => Promise<void>
}

/** The newest first, and the button that lets a version come again. */
function deliveries(one: Installation, { again, when }: Around): Child {
  if (one.updates.length === 0) return say('off', texts.noUpdateYet, texts.whenItFetches)
  const versions = shunned(one)
  const retry = () =>
    void doneOrSaid(
      () => installationsApi.change(one.id, { retry: true }),
      again,
      texts.areOfferedAgain(listed(versions)),
    )
  return html`<ul class="came">${one.updates.toReversed().map((each) => {
    const { lit, text } = deliveryText(each, when)
    return html`<li key=${releaseName(each)} data-s=${lit}>${lamp(lit, true)}<span>${text}</span></li>`
  })}</ul>
    ${versions.length > 0 ? html`<div class="in stack"><p class="small soft">${texts.notOfferedAgain(listed(versions))}</p><div class="acts start"><${Act} run=${retry}>${texts.offerAgain}</${Act}></div></div>` : null}`
}

function facts(one: Installation, when: When): VNode {
  const at = (ms: number) => sinceText(ms, when.nowMs, when.zone)
  return factTable([
    [texts.id, html`<span class="mono break">${one.id}</span>`],
    [texts.runs, one.version ?? UNKNOWN],
    [texts.build, one.build ?? UNKNOWN],
    [texts.architecture, one.arch ?? UNKNOWN],
    ...(one.compatible === null ? [] : [[texts.takesImagesFor, one.compatible] as [string, string]]),
    [texts.wouldGet, one.offered === one.version ? texts.nothing : (one.offered ?? texts.nothing)],
    [texts.lastSeen, `${at(one.last_seen_at)}, ${one.address}`],
    [texts.registered, `${at(one.registered_at)}, ${one.registered_from}`],
  ])
}
