/** The popover of a crosspoint: the decoder's signal chain, Stop, volume, its password, and other streams to play. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { chain, type Link } from '#kit/web/figures.ts'
import { input, useForm } from '#kit/web/form.ts'
import { type Child, html } from '#kit/web/html.ts'
import { count, fixed } from '#kit/web/numbers.ts'
import { Act, icon, lamp, say } from '#kit/web/parts.ts'
import { Pop } from '#kit/web/pop.ts'
import { filterInput, matches } from '#kit/web/tools.ts'
import type { Peer } from './api.ts'
import { dismiss, isDismissable } from './boards-table.ts'
import { farPageUrl, typePassword } from './far-boards.ts'
import { brokenLink, type Column, type Row } from './routing.ts'
import { crosspointRefusal, muteOn, playOn, stepOn, stopOn } from './routing-grid.ts'
import { groupText, linksOf } from './sound-words.ts'
import * as texts from './texts.ts'

/** A popover that is open. */
export interface Opened {
  row: string
  /** null if opened at the name, to choose a stream. */
  column: string | null
  /** The decoder's refusal of the last change. */
  refused?: string
  /** It wants another password. */
  isLocked?: boolean
}

interface PopFacts {
  row: Row
  columns: readonly Column[]
  peers: readonly Peer[]
  opened: Opened
  open: (opened: Opened | null) => void
  again: () => Promise<void>
}

/** The popover. */
export function RoutingPop({ row, columns, peers, opened, open, again }: PopFacts): VNode {
  const at = columns.find(({ key }) => key === opened.column)
  const isRouted = row.column !== null && (opened.column === null || opened.column === row.column)
  const isLocked = row.isLocked || opened.isLocked === true
  const page = row.peer.self ? null : farPageUrl(row.peer)
  const close = (): void => open(null)
  async function letGo(): Promise<void> {
    close()
    await dismiss(row.peer, peers)
    await again()
  }
  const run = (act: () => Promise<void>, isOver = false): void => void attempt(row, opened, { act, open, isOver })
  const refused = opened.refused
    ? html`<p class="refusal" role="alert" data-s="fault">${lamp('fault')}<span>${at ? texts.crosspoint(at.name, row.name) : ''}${opened.refused}</span></p>`
    : null
  return html`<${Pop} title=${titleOf(row)} close=${close} anchor=${() => anchorOf(opened)}>
    <p>${isRouted && !row.isGone ? (brokenLink(row.sound?.checks ?? [])?.text ?? row.why) : row.why}</p>${refused}
    ${
      isLocked
        ? html`<${Password} row=${row} done=${async () => {
            await again()
            close()
          }} />`
        : null
    }
    ${isRouted && row.sound && !row.isGone ? chain(linksFor(row, columns), true) : null}
    ${isLocked || row.isGone ? null : loudness(row, run)}
    ${opened.column === null && !isLocked && !row.isGone ? html`<${Sources} row=${row} columns=${columns} play=${(column: Column) => run(() => playOn(row, column, columns), true)} />` : null}
    <div class="acts">${isRouted && !row.isGone && !isLocked ? html`<${Act} run=${() => run(() => stopOn(row), true)}>Stop</${Act}>` : null}
      ${isDismissable(row.peer) ? html`<${Act} run=${() => void letGo()}>Dismiss</${Act}>` : null}
      ${page ? html`<a class="btn" href=${page}>Open ${row.name}</a>` : null}</div></${Pop}>`
}

interface Attempt {
  act: () => Promise<void>
  open: (opened: Opened | null) => void
  /** Whether to close the popover at once; a refusal opens it again. */
  isOver: boolean
}

async function attempt(row: Row, opened: Opened, { act, open, isOver }: Attempt): Promise<void> {
  if (isOver) open(null)
  try {
    await act()
  } catch (thrown) {
    open({ ...opened, row: row.key, ...crosspointRefusal(thrown) })
  }
}

/** The element it is attached to: the crosspoint, or the name. */
function anchorOf({ row, column }: Opened): Element | null {
  const line = [...document.querySelectorAll<HTMLElement>('.matrix tr[data-row]')].find(
    ({ dataset }) => dataset.row === row,
  )
  const pins = [...(line?.querySelectorAll<HTMLElement>('button[data-column]') ?? [])]
  const pin = column === null ? undefined : pins.find(({ dataset }) => dataset.column === column)
  return pin ?? line?.querySelector('.row-name') ?? null
}

function titleOf({ name, lit, source }: Row): string {
  if (lit === 'fault') return texts.isSilent(name)
  if (lit === 'mute') return texts.routingIsMuted(name)
  if (lit === 'gone') return texts.isNotReachable(name)
  return source === '' ? name : texts.playsSource(name, source)
}

/** The chain from encoder to output; the encoder's own state is used if known. */
function linksFor({ sound, column }: Row, columns: readonly Column[]): Link[] {
  // The fault is already shown above the chain.
  const broken = brokenLink(sound?.checks ?? [])?.name
  const links = linksOf(sound?.checks ?? []).map((link) => (link.key === broken ? { ...link, text: '' } : link))
  const from = columns.find(({ key }) => key === column)
  if (!from?.peer) return links
  const head = `${from.name} ${from.isGone ? texts.routingIsNotReachable : texts.sourceSends}`
  const level = from.isTold
    ? from.rmsDb === null
      ? texts.silence
      : `${fixed(from.rmsDb, 1)} dBFS`
    : texts.doesNotSayHowLoud
  const first: Link = {
    key: 'encoder',
    lit: from.isGone ? 'gone' : from.isTold ? 'ok' : 'off',
    head,
    text: texts.sourceAndLevel(groupText(from), from.isGone, level),
  }
  return [first, ...links.filter(({ key }) => key !== 'stream')]
}

function loudness(row: Row, run: (act: () => Promise<void>) => void): Child {
  const volume = row.sound?.volume
  if (!volume) return null
  const text = volume.volume === 0 ? texts.silent : texts.db(fixed(volume.volumeDb, 1))
  return html`<div class="pop-volume"><${Act} kind="icon" label="1 dB down" run=${() => run(() => stepOn(row, -1))}>${icon('minus')}</${Act}><output>${text}</output>
    <${Act} kind="icon" label="1 dB up" run=${() => run(() => stepOn(row, 1))}>${icon('plus')}</${Act}>
    <${Act} pressed=${volume.mute} run=${() => run(() => muteOn(row))}>${icon('mute')}${volume.mute ? texts.muted : texts.routingMute}</${Act}></div>`
}

interface SourcesFacts {
  row: Row
  columns: readonly Column[]
  play: (column: Column) => void
}

/** All streams, each playable with one touch. */
function Sources({ row, columns, play }: SourcesFacts): VNode {
  const [filter, setFilter] = useState('')
  const others = columns.filter(({ key }) => key !== row.column)
  const shown = others.filter(({ name, mcast, peer }) => matches(`${name} ${mcast} ${peer?.hostname ?? ''}`, filter))
  if (others.length === 0) return say('off', texts.noOtherStreamWasFound, texts.encodersAppear)
  const find =
    others.length > 6
      ? filterInput({ filter, setFilter, label: texts.findStream, placeholder: texts.findStream })
      : null
  return html`<div class="sources stack"><h3>Play ${row.column === null ? texts.stream : texts.anotherStream}</h3>${find}
    <ul>${shown.map((column) => html`<li key=${column.key}><button class="link" type="button" disabled=${column.mcast === ''} onClick=${() => play(column)}>${lamp(column.isGone ? 'gone' : column.isTold && column.rmsDb === null ? 'off' : 'ok')}<span>${column.name}<span class="under">${groupText(column)}${column.isGone ? texts.routingNotReachable2 : ''}</span></span></button></li>`)}</ul>
    ${shown.length === 0 ? html`<p class="small faint">No stream matches; ${count(others.length)} are hidden.</p>` : null}</div>`
}

/**
 * Asks for the password of a board that has another one. It is sent to that board only, and kept as long as the page.
 */
function Password({ row, done }: { row: Row; done: () => Promise<void> }): VNode {
  const form = useForm({ password: '' })
  async function submit(event: Event): Promise<void> {
    event.preventDefault()
    typePassword(row.peer, String(form.values.value.password))
    await form.submit(done)
  }
  return html`<form class="unlock" onSubmit=${(event: Event) => void submit(event)} novalidate>
    ${input({ form, name: 'password', label: texts.passwordOf(row.name), type: 'password', autocomplete: 'off', first: true })}
    <${Act} type="submit" waits=${form.isBusy.value || form.values.value.password === ''}>Use it</${Act}></form>`
}
