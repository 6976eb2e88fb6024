/** One release: to whom it is offered, who fetched and applied it, its files; withdrawing and deleting it. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Asked, doneOrSaid } from '#kit/web/asked.ts'
import { sentenceOf, useLook } from '#kit/web/call.ts'
import { daemonNow, zone } from '#kit/web/contact.ts'
import { factTable } from '#kit/web/figures.ts'
import { choice, type Form, input, refusal, toggle, typedNumber, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { firstAnswer } from '#kit/web/lazy.ts'
import { bytesText, sinceText, UNKNOWN } from '#kit/web/numbers.ts'
import { Act, icon, lamp, say, toast } from '#kit/web/parts.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import {
  type Channel,
  type InstallationList,
  installationsApi,
  type Release,
  type ReleaseBody,
  type ReleaseFile,
  releasesApi,
} from './api.ts'
import * as texts from './texts.ts'
import { deliveryText, nameOf, reachText, releaseName, type When } from './words.ts'

const LOOK_MS = 5000
/** Installations that are shown; the list of all can be searched. */
const MOST_MET = 100

interface PanelFacts {
  release: Release
  again: () => Promise<void>
}

/** The panel beside the list. */
export function ReleasePanel({ again, release }: PanelFacts): VNode {
  const when = { nowMs: daemonNow(), zone: zone.value }
  return html`<div class="stack"><${ReleaseForm} release=${release} again=${again} />
    <section class="panel" aria-label=${texts.whoMetIt}><header><h2>${texts.whoMetIt}</h2><span class="faint">${reachText(release)}</span></header><${WhoMet} release=${release} when=${when} /></section>
    ${fileOf(release.compatible === null ? texts.updateFile : texts.imageFile, release.update, when)}${deltasOf(release)}${fileOf(texts.installerFile, release.installer, when)}</div>`
}

function ReleaseForm({ again, release }: PanelFacts): VNode {
  const { id } = release
  const name = releaseName(release)
  const form = useForm({ channel: release.channel, percent: String(release.percent), hold: release.hold }, 'edit')
  async function save(): Promise<void> {
    await releasesApi.change(id, bodyOf(form))
    form.settle()
    toast(texts.releaseIsSaved(name))
    await again()
  }
  function submit(event: Event): void {
    event.preventDefault()
    void form.submit(save)
  }
  return html`<form class="panel" onSubmit=${submit} novalidate aria-label=${name}>
    <header><h2>${name}</h2><div class="acts"><a class="btn quiet icon" href=${linkTo('updates')} aria-label="Close update">${icon('close')}</a></div></header>
    <div class="in stack">${stateLine(release, again)}
      ${choice({
        form,
        name: 'channel',
        label: texts.channel,
        options: [
          ['stable', texts.channelNames.stable],
          ['beta', texts.channelNames.beta],
        ],
        hint: texts.releaseChannelHint,
      })}
      ${input({ form, name: 'percent', label: texts.share, type: 'number', unit: '%', hint: texts.shareHint })}
      ${toggle({ form, name: 'hold', label: texts.holdHere, hint: texts.holdHint(name) })}${refusal(form)}</div>
    <footer class="save">${removal(release, again)}
      <${Act} kind="primary" type="submit" waits=${form.isBusy.value || !form.hasChanges()}>${texts.save}</${Act}></footer></form>`
}

function bodyOf({ isChanged, values }: Form): ReleaseBody {
  const { channel, hold, percent } = values.value
  return {
    ...(isChanged('channel') && { channel: channel as Channel }),
    ...(isChanged('percent') && { percent: typedNumber(percent) }),
    ...(isChanged('hold') && { hold: hold === true }),
  }
}

/** Whether it is offered, and the button that changes it. */
function stateLine(release: Release, again: () => Promise<void>): VNode {
  const { id, state } = release
  const name = releaseName(release)
  async function change(body: ReleaseBody, done: string, undo?: ReleaseBody): Promise<void> {
    try {
      await releasesApi.change(id, body)
      toast(done, undo && (() => void change(undo, texts.isOfferedAgain(name))))
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
    await again()
  }
  const offer = () =>
    void change(state === 'halted' ? { halted: false } : { withdrawn: false }, texts.isOfferedAgain(name))
  const withdraw = () => void change({ withdrawn: true }, texts.isWithdrawn(name), { withdrawn: false })
  const [lit, text] = {
    offered: ['ok', texts.offeredMeans],
    halted: ['fault', texts.haltedHere],
    withdrawn: ['off', texts.withdrawnMeans],
    deleted: ['off', ''],
  }[state] as ['ok' | 'fault' | 'off', string]
  return html`<div class="stand"><span class="said" data-s=${lit}>${lamp(lit)}<span>${text}</span></span><div class="acts start">
    ${state === 'offered' ? null : html`<${Act} run=${offer}>${texts.offerAgain}</${Act}>`}
    ${state === 'withdrawn' ? null : html`<${Act} run=${withdraw}>${texts.withdraw}</${Act}>`}</div></div>`
}

function removal(release: Release, again: () => Promise<void>): VNode {
  const name = releaseName(release)
  const toList = async (): Promise<void> => {
    goTo('updates')
    await again()
  }
  const remove = () => void doneOrSaid(() => releasesApi.remove(release.id), toList, texts.isDeleted(name))
  return html`<${Asked} act=${texts.deleteIt} kind="danger apart" title=${texts.deleteQuestion(name)} text=${texts.deletingMeans} sure=${texts.deleteRelease} keep=${texts.keepRelease} run=${remove} />`
}

/** Installations that fetched it, and what came of it. */
function WhoMet({ release: { compatible, id, version }, when }: { release: Release; when: When }): VNode {
  const [list, setList] = useState<InstallationList | null>(null)
  const { again, refused } = useLook(
    async () => setList(await installationsApi.list({ release: id, limit: MOST_MET })),
    LOOK_MS,
    id,
  )
  if (list === null)
    return firstAnswer(refused, texts.askingInstallations, texts.installationsNotRead, () => void again())
  if (list.total === 0) return say('off', texts.nobodyYet, texts.nobodyYetMeans)
  const rest = list.total - list.installations.length
  return html`<ul class="came">${list.installations.map((one) => {
    const delivery = one.updates.find((each) => each.version === version && each.compatible === compatible)
    const said = delivery && deliveryText(delivery, when)
    return html`<li key=${one.id} data-s=${said?.lit}>${lamp(said?.lit ?? 'off', true)}<span><a href=${linkTo('installations', one.id)}>${nameOf(one)}</a><span class="under">${said?.text ?? UNKNOWN}</span></span></li>`
  })}</ul>${rest > 0 ? html`<p class="in small faint">${texts.andMore(rest)}</p>` : null}`
}

/** From which versions less than the update has to be fetched. */
function deltasOf({ deltas, update }: Release): Child {
  if (!update || deltas.length === 0) return null
  const rows = deltas.map(({ from, size }): [string, Child] => [
    texts.deltaFrom(from),
    texts.deltaSize(bytesText(size), (100 * size) / update.size),
  ])
  return html`<section class="panel" aria-label=${texts.deltaFiles}><header><h2>${texts.deltaFiles}</h2></header>${factTable(rows)}</section>`
}

function fileOf(title: string, file: ReleaseFile | null, when: When): Child {
  if (!file) return null
  const hash: Child = file.bundle_hash
    ? html`<span class="mono break">${file.bundle_hash}</span>`
    : html`<span class="said" data-s="warn">${lamp('warn')}<span>${texts.hashMissingMeans}</span></span>`
  return html`<section class="panel" aria-label=${title} key=${title}><header><h2>${title}</h2></header>${factTable([
    [texts.fileName, html`<span class="mono break">${file.filename}</span>`],
    [texts.size, bytesText(file.size)],
    [texts.published, sinceText(file.published_at, when.nowMs, when.zone)],
    ['SHA-256', html`<span class="mono break">${file.checksum}</span>`],
    [texts.bundleHash, hash],
    [texts.signature, file.signed ? texts.isSigned : texts.isUnsigned],
  ])}</section>`
}
