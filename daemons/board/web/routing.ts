/** The model of the matrix: which decoder plays which stream, its state, and the sentence over all of it. */
import { age, count, listed, sinceText } from '#kit/web/numbers.ts'
import type { Judgement, Lit } from '#kit/web/parts.ts'
import { matches } from '#kit/web/tools.ts'
import type { Check } from '../core/sound/sound.ts'
import type { Peer } from './api.ts'
import {
  type FarBoard,
  type FarDecoder,
  type FarEncoder,
  type FarSound,
  isThere,
  lastOf,
  peerKey,
} from './far-boards.ts'
import { AWAITED, peerName, type When } from './matrix.ts'
import { groupText } from './sound-words.ts'
import * as texts from './texts.ts'

/** A column: the stream of an encoder that was found, or one that a decoder plays and no known encoder sends. */
export interface Column {
  key: string
  /** null if the sender is not a board. */
  peer: Peer | null
  name: string
  mcast: string
  port: number
  /** Address of its sender if that is a board. */
  source: string | null
  /** null if the board does not say. */
  encoding: string | null
  channels: number | null
  isGone: boolean
  /** null if silent or unknown. */
  rmsDb: number | null
  /** Whether it reports its level at all. */
  isTold: boolean
}

/** A row: a decoder. */
export interface Row {
  key: string
  peer: Peer
  name: string
  /** `mute` and `off` are intended; `busy` is not known yet. */
  lit: Lit
  /** One sentence: what is heard, or why nothing is. */
  why: string
  /** Name of the stream it plays: `Stage mix`. */
  source: string
  /** Its latest report. */
  sound: FarDecoder | null
  /** The key of the stream it plays; null when it plays none. */
  column: string | null
  isLocked: boolean
  /** It does not answer now; its data is old. */
  isGone: boolean
  /** It gets nothing of its stream, and nobody intended that. */
  isSilent: boolean
}

/** What the page knows about the boards. */
export interface Seen {
  peers: readonly Peer[]
  boards: ReadonlyMap<string, FarBoard>
  /** Sound of this board itself. */
  own: FarSound | null
  when: When
}

/** The columns: encoders by name, then other streams being played. */
export function columnsOf({ peers, boards, own }: Seen): Column[] {
  const encoders = peers.filter(({ role }) => role === 'encoder').map((peer) => columnOf(peer, boards, own))
  const known = encoders.toSorted((a, b) => a.name.localeCompare(b.name) || a.key.localeCompare(b.key))
  const others = new Map<string, Column>()
  for (const peer of peers) {
    const route = peer.role === 'decoder' ? decoderOf(peer, boards, own)?.route : undefined
    if (!route?.mcast || known.some((each) => isSame(each, route))) continue
    const key = `stream ${groupText(route)}`
    const name = route.name ?? others.get(key)?.name ?? groupText(route)
    others.set(key, { ...NO_BOARD, key, name, mcast: route.mcast, port: route.port, encoding: route.encoding })
  }
  return [...known, ...[...others.values()].toSorted((a, b) => a.name.localeCompare(b.name))]
}

const NO_BOARD = { peer: null, source: null, channels: null, isGone: false, rmsDb: null, isTold: false }

function columnOf(peer: Peer, boards: ReadonlyMap<string, FarBoard>, own: FarSound | null): Column {
  const board = boards.get(peerKey(peer))
  const sound = peer.self ? own : lastOf(board)?.sound
  const told: FarEncoder | undefined = sound?.kind === 'encoder' ? sound : undefined
  const isGone = isAway(peer, board)
  const stream = told?.stream ?? announcedOf(peer.stream)
  return {
    key: peerKey(peer),
    peer,
    name: told?.stream.name || peerName(peer),
    mcast: stream.mcast,
    port: stream.port,
    source: peer.ip,
    encoding: told?.stream.encoding ?? null,
    channels: told?.stream.channels ?? null,
    isGone,
    rmsDb: isGone ? null : (told?.rmsDb ?? null),
    isTold: !isGone && told !== undefined,
  }
}

/** Whether a board is missing for this board or this browser; one still awaited is not. */
function isAway(peer: Peer, board: FarBoard | undefined): boolean {
  if (peer.self || peer.state === 'awaited') return false
  return !isThere(peer) || board?.state === 'silent'
}

/** Parses `239.69.1.2:5004`, as announced by mDNS. */
function announcedOf(stream: string | null): { mcast: string; port: number } {
  const [mcast = '', port = '0'] = (stream ?? '').split(':')
  return { mcast, port: Number(port) }
}

function isSame(one: { mcast: string; port: number }, other: { mcast: string; port: number }): boolean {
  return one.mcast === other.mcast && one.port === other.port
}

function decoderOf(peer: Peer, boards: ReadonlyMap<string, FarBoard>, own: FarSound | null): FarDecoder | null {
  const sound = peer.self ? own : lastOf(boards.get(peerKey(peer)))?.sound
  return sound?.kind === 'decoder' ? sound : null
}

/** The rows: decoders by name. */
export function decoderRows(seen: Seen, columns: readonly Column[]): Row[] {
  return seen.peers
    .filter(({ role }) => role === 'decoder')
    .map((peer) => rowOf(peer, seen, columns))
    .toSorted((a, b) => a.name.localeCompare(b.name) || a.key.localeCompare(b.key))
}

function rowOf(peer: Peer, { boards, own, when }: Seen, columns: readonly Column[]): Row {
  const board = boards.get(peerKey(peer))
  const sound = decoderOf(peer, boards, own)
  const column = sound ? columnFor(sound, columns) : undefined
  const source = column?.name ?? ''
  const row = { key: peerKey(peer), peer, name: peerName(peer), sound, column: column?.key ?? null, source }
  const said = (lit: Lit, why: string, more: Partial<Row> = {}): Row => ({
    ...row,
    ...{ lit, why, isLocked: false, isGone: false, isSilent: false },
    ...more,
  })
  if (peer.state === 'awaited') return said('busy', AWAITED)
  if (isAway(peer, board)) return said('gone', goneText(peer, board, when), { isGone: true })
  if (board?.state === 'locked') return said('warn', board.text, { isLocked: true, column: null, sound: null })
  if (!peer.self && !board) return said('busy', texts.beingAskedWhatPlays)
  if (!sound) return said('off', lastOf(board)?.text ?? texts.routesAreNotTold)
  const { lit, why } = judgeDecoder(sound, source)
  return said(lit, why, { isSilent: lit === 'fault' })
}

/** The column of a route: of streams that share its address, the one being played. */
function columnFor({ route, sender }: FarDecoder, columns: readonly Column[]): Column | undefined {
  const all = route.mcast === '' ? [] : columns.filter((column) => isSame(column, route))
  // A replacement may have the address of the missing board: prefer the one that is present.
  const same = all.toSorted((one, other) => Number(one.isGone) - Number(other.isGone))
  return same.find(({ source }) => source !== null && source === (route.source ?? sender)) ?? same[0]
}

function goneText(
  { last_answer_at: answeredAt, last_heard_at: heardAt, state }: Peer,
  board: FarBoard | undefined,
  when: When,
): string {
  // For an absent board only its own answers count: anybody can announce it.
  const at = Math.max(answeredAt ?? 0, state === 'absent' ? 0 : (heardAt ?? 0))
  if (board?.state === 'silent' && !board.last && at > when.nowMs - 60_000) return texts.doesNotAnswerBrowser
  return at === 0
    ? texts.doesNotAnswer
    : texts.notReachableSince(sinceText(at, when.nowMs, when.zone), age(Math.max(1000, when.nowMs - at), 1))
}

/** The first broken link; undefined if sound comes out. */
export function brokenLink(checks: readonly Check[]): Check | undefined {
  return checks.find(({ state }) => state !== 'ok' && state !== 'warn')
}

function judgeDecoder({ route, checks, playing, lossPercent }: FarDecoder, source: string): { lit: Lit; why: string } {
  if (route.mcast === '') return { lit: 'off', why: texts.nothingRouted }
  const broken = brokenLink(checks)
  const what = source || groupText(route)
  if (broken?.state === 'fault') return { lit: 'fault', why: broken.text || texts.isNotHeard(what) }
  if (broken?.state === 'off')
    return { lit: broken.code === 'stopped' ? 'off' : 'mute', why: broken.text || texts.isMuted }
  if (broken) return { lit: 'busy', why: broken.text || texts.begins(what) }
  if (!playing) return { lit: 'fault', why: texts.notHeardUnknownWhy(what) }
  const trouble = checks.find(({ state }) => state === 'warn')
  if (trouble?.code === 'silence') return { lit: 'off', why: trouble.text }
  if (trouble) return { lit: 'warn', why: trouble.text }
  return (lossPercent ?? 0) > 0 ? { lit: 'warn', why: texts.packetsAreLost(what) } : { lit: 'ok', why: what }
}

/** Whether it does not play what it should, or that is unknown. */
export function isNeedyRow({ lit, isLocked }: Row): boolean {
  return lit === 'fault' || lit === 'gone' || lit === 'warn' || isLocked
}

/** Rows that need attention first, for a list on a phone. */
export function needyFirst(rows: readonly Row[]): Row[] {
  const order: readonly Lit[] = ['fault', 'gone', 'warn', 'busy', 'ok', 'off', 'mute']
  return rows.toSorted((a, b) => order.indexOf(a.lit) - order.indexOf(b.lit))
}

/** The boards that pass the filter: decoders, encoders, or both when both match. */
export function filtered(
  { rows, columns }: { rows: readonly Row[]; columns: readonly Column[] },
  filter: string,
): { rows: readonly Row[]; columns: readonly Column[] } {
  if (filter.trim() === '') return { rows, columns }
  const foundRows = rows.filter(({ name, why, peer }) => matches(`${name} ${peer.hostname} ${peer.ip} ${why}`, filter))
  const foundColumns = columns.filter(({ name, peer, mcast }) =>
    matches(`${name} ${peer?.hostname ?? ''} ${peer?.ip ?? ''} ${mcast}`, filter),
  )
  if (foundRows.length === 0 && foundColumns.length === 0) return { rows: [], columns: [] }
  return {
    rows: foundRows.length === 0 ? rows : foundRows,
    columns: foundColumns.length === 0 ? columns : foundColumns,
  }
}

/** The verdict: unintended silence comes first. */
export function judgeRouting(rows: readonly Row[]): Judgement {
  const routed = rows.filter(({ sound }) => sound !== null && sound.route.mcast !== '')
  const playing = routed.filter(({ lit }) => lit === 'ok' || lit === 'warn').length
  const silent = rows.filter(({ isSilent }) => isSilent)
  const gone = rows.filter(({ isGone }) => isGone)
  const worn = rows.filter(({ lit, isLocked }) => lit === 'warn' && !isLocked)
  const locked = rows.filter(({ isLocked }) => isLocked)
  const muted = rows.filter(({ lit }) => lit === 'mute')
  const hushed = routed.filter(({ lit }) => lit === 'off')
  const unsure = rows.filter(({ lit }) => lit === 'busy')
  const be = (some: readonly Row[], one: string, more: string, text: string): string =>
    some.length === 0 ? '' : `${namesOf(some)} ${some.length === 1 ? one : more} ${text}.`
  const more = [
    be(gone, 'cannot', 'cannot', texts.beReached),
    be(locked, 'asks', 'ask', texts.forAnotherPassword),
    be(worn, 'needs', 'need', texts.look),
    be(muted, 'is', 'are', 'muted'),
    be(hushed, 'gets', 'get', texts.nothingButSilence),
    be(unsure, 'is', 'are', texts.beingAsked),
  ]
  const all =
    routed.length === 0
      ? texts.noDecoderIsRoutedToStream
      : texts.routedPlay(count(playing), count(routed.length), routed.length)
  function lit(): Lit {
    if (silent.length > 0) return 'fault'
    if (gone.length + locked.length + worn.length > 0) return 'warn'
    if (unsure.length > 0) return 'busy'
    if (playing > 0 || routed.length === 0) return playing > 0 ? 'ok' : 'off'
    // Nothing plays, as intended.
    return muted.length > 0 ? 'mute' : 'off'
  }
  return {
    lit: lit(),
    sentence: [all, be(silent, 'is', 'are', 'silent')].filter(Boolean).join(' '),
    why: more.filter(Boolean).join(' '),
  }
}

function namesOf(rows: readonly Row[]): string {
  return listed(rows.map(({ name }) => name))
}
