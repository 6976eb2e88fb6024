/** The boards of the matrix: their order, their states, and the sentence over all of them. */
import { age, listed, sinceText } from '#kit/web/numbers.ts'
import type { Judgement, Lit } from '#kit/web/parts.ts'
import { matches } from '#kit/web/tools.ts'
import type { Verdict } from '../core/role.ts'
import type { Peer } from './api.ts'
import type { FarBoard } from './far-boards.ts'
import * as texts from './texts.ts'
import { litOf, roleTitleOf } from './words.ts'

/** One row: a board as seen by itself, by the browser and by this board. */
export interface BoardRow {
  peer: Peer
  lit: Lit
  text: string
  /** It asks for a password that the user has not typed yet. */
  isLocked: boolean
}

/** Present time and zone, for times in sentences. */
export interface When {
  nowMs: number
  zone?: string | undefined
}

/** The text of a board's row. @param own the verdict of this board itself */
export function boardRow(peer: Peer, far: FarBoard | undefined, own: Verdict | undefined, when: When): BoardRow {
  const row = (lit: Lit, text: string, isLocked = false): BoardRow => ({ peer, lit, text, isLocked })
  if (peer.self) return own ? row(litOf(own.state), own.text) : row('off', texts.matrixBoard)
  if (peer.state === 'awaited') return row('busy', AWAITED)
  if (peer.state === 'absent') return row('gone', absentText(peer, when))
  if (peer.state === 'unreachable') return row('gone', lastText(peer, when))
  if (!far) return row('busy', texts.beingAskedHow)
  if (far.state === 'told') return row(litOf(far.lit), far.text)
  if (far.state === 'locked') return row('warn', far.text, true)
  return row('warn', texts.answersBoardOnly)
}

/** For a board that was seen before this one restarted. */
export const AWAITED = texts.knownFromBefore

/** Only its own answers count: anybody can announce it. */
function absentText({ last_answer_at: at }: Peer, { nowMs, zone }: When): string {
  const since =
    at === null ? texts.isGone : texts.goneSince(sinceText(at, nowMs, zone), age(Math.max(1000, nowMs - at), 1))
  return texts.staysUntilItAnswers(since)
}

function lastText({ last_answer_at: answeredAt, last_heard_at: heardAt }: Peer, { nowMs, zone }: When): string {
  const at = Math.max(answeredAt ?? 0, heardAt ?? 0)
  if (at === 0) return texts.doesNotAnswer
  return texts.lastHeard(sinceText(at, nowMs, zone), age(Math.max(1000, nowMs - at), 1))
}

/** Boards that need attention first, then by name; this board comes first among the healthy ones. */
export function sortRows(rows: readonly BoardRow[]): BoardRow[] {
  const order: Lit[] = ['fault', 'gone', 'warn', 'busy', 'ok', 'off', 'mute']
  const rank = ({ lit }: BoardRow): number => order.indexOf(lit)
  return rows.toSorted(
    (a, b) =>
      rank(a) - rank(b) ||
      Number(b.peer.self) - Number(a.peer.self) ||
      peerName(a.peer).localeCompare(peerName(b.peer)),
  )
}

/** A board's name, else its hostname. */
export function peerName({ name, hostname }: Peer): string {
  return name || hostname
}

/** Rows that match a filter; if only needy ones are wanted, those that need attention. */
export function chosenRows(rows: readonly BoardRow[], filter: string, isNeedyOnly: boolean): BoardRow[] {
  const textOf = ({ peer, text }: BoardRow): string =>
    `${peer.name} ${peer.hostname} ${peer.ip} ${roleTitleOf(peer.role)} ${peer.version ?? ''} ${text}`
  return rows.filter((row) => (!isNeedyOnly || isNeedy(row)) && matches(textOf(row), filter))
}

/** Whether a board needs attention. */
export function isNeedy({ lit }: BoardRow): boolean {
  return lit === 'fault' || lit === 'gone' || lit === 'warn'
}

/**
 * The verdict over sound, followed by other troubles of boards.
 * @param rest boards not judged by the routing
 */
export function withBoards(routing: Judgement, rest: readonly BoardRow[]): Judgement {
  const needy = sortRows(rest.filter(isNeedy))
  if (needy.length === 0) return routing
  const names = listed(needy.map(({ peer }) => peerName(peer)))
  const lit: Lit = routing.lit === 'fault' || needy[0]?.lit === 'fault' ? 'fault' : 'warn'
  const look = texts.needALook(names, needy.length)
  return { ...routing, lit, why: [routing.why, look].filter(Boolean).join(' ') }
}

/** The verdict over all boards. */
export function judgeBoards(rows: readonly BoardRow[]): Judgement {
  const needy = sortRows(rows.filter(isNeedy))
  const first = needy[0]
  const asked = rows.filter(({ lit }) => lit === 'busy').length
  if (rows.length === 1 && !first)
    return { lit: 'off', sentence: texts.noOtherBoardWasHeardYet, why: texts.boardsAnnounceThemselves }
  if (!first && asked > 0)
    return {
      lit: 'busy',
      sentence: texts.boardsAreBeingAsked(asked, rows.length),
    }
  if (!first)
    return {
      lit: 'ok',
      sentence: rows.length === 1 ? texts.boardIsWell : texts.areWell(rows.length),
    }
  const well = rows.length - needy.length - asked
  const names = listed(needy.map(({ peer }) => peerName(peer)))
  const lit = first.lit === 'fault' ? 'fault' : 'warn'
  return {
    lit,
    sentence: texts.someBoardsAreWell(well, rows.length, names, needy.length),
    why: `${peerName(first.peer)}: ${first.text}`,
  }
}
