/** The boards that say they play this encoder's stream. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLook } from '#kit/web/call.ts'
import { html } from '#kit/web/html.ts'
import { many } from '#kit/web/numbers.ts'
import { lamp, say } from '#kit/web/parts.ts'
import { linkTo } from '#kit/web/route.ts'
import { api, type Peer, type SentStream, signedInWith } from './api.ts'
import { askBoards, type FarBoard, farBoards, lastOf, peerKey } from './far-boards.ts'
import { peerName } from './matrix.ts'
import { isRouted } from './sound-words.ts'
import * as texts from './texts.ts'

const LOOK_HEARERS_MS = 5000

/** A decoder that has this stream as its route. */
interface Hearer {
  peer: Peer
  isPlaying: boolean
}

/** Decoders that say they play a stream, and how many said nothing. */
export function hearersOf(
  peers: readonly Peer[],
  boards: ReadonlyMap<string, FarBoard>,
  stream: Pick<SentStream, 'mcast' | 'port'>,
): { hearers: Hearer[]; unknown: number } {
  const decoders = peers.filter(({ role }) => role === 'decoder')
  const source = peers.find(({ self }) => self)?.ip ?? null
  const hearers: Hearer[] = []
  let unknown = 0
  for (const peer of decoders) {
    const board = boards.get(peerKey(peer))
    const sound = board?.state === 'told' ? lastOf(board)?.sound : undefined
    if (sound?.kind !== 'decoder') unknown += 1
    else if (isRouted({ ...stream, source }, sound.route, sound.sender))
      hearers.push({ peer, isPlaying: sound.playing })
  }
  return { hearers, unknown }
}

/** The panel. */
export function HeardBy({ stream }: { stream: SentStream }): VNode {
  const [peers, setPeers] = useState<Peer[] | null>(null)
  useLook(async () => {
    const found = await api.peers()
    await askBoards(
      found.filter(({ role }) => role === 'decoder'),
      signedInWith(),
    )
    setPeers(found)
  }, LOOK_HEARERS_MS)
  const matrix = html`<a class="btn" href=${linkTo('matrix')}>Matrix</a>`
  const { hearers, unknown } = hearersOf(peers ?? [], farBoards.value, stream)
  const silent =
    unknown === 0 ? null : html`<p class="foot small faint">${many(unknown, 'decoder')} did not say what it plays.</p>`
  return html`<section class="panel" aria-label="Heard by"><header><h2>Heard by ${peers === null ? 'boards' : many(hearers.length, 'board')}</h2><div class="acts">${matrix}</div></header>
    ${peers === null ? say('busy', texts.askingDecodersWhatTheyPlay, texts.foundOnesAreAsked) : list(hearers)}${silent}</section>`
}

function list(hearers: readonly Hearer[]): VNode {
  if (hearers.length === 0) return say('off', texts.noDecoderOfNetworkPlays, texts.othersAreNotCounted)
  return html`<table class="table tight"><tbody>${hearers.map(
    ({ peer, isPlaying }) =>
      html`<tr key=${peerKey(peer)}><td class="lit">${lamp(isPlaying ? 'ok' : 'fault', isPlaying ? texts.playing : texts.routedNotPlaying)}</td><td class="name">${peerName(peer)}</td></tr>`,
  )}</tbody></table>`
}
