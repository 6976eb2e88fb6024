/** Puts together rules: what they hear of, and what they do. */
import { parseTarget } from '#kit/net/target.ts'
import type { Ledger } from '#kit/records/ledger.ts'
import type { LedgerEntry } from '#kit/records/ledger-entry.ts'
import type { AssembleContext } from '#kit/run/daemon.ts'
import { alertAnswerOf } from '../api/rule-answers.ts'
import type { RecorderConfig } from '../config.ts'
import { type AccountRecord, mayHear, maySee } from '../core/access/accounts.ts'
import type { CameraEvent } from '../core/camera-events/camera-events.ts'
import type { CameraBook } from '../core/cameras/book.ts'
import type { StatusFeed } from '../core/live/feed.ts'
import type { Outputs } from '../core/outputs/outputs.ts'
import { createActor, type Moves, type Talker, targetOfMoves } from '../core/rules/actions.ts'
import { checkRule } from '../core/rules/check.ts'
import { createLanes } from '../core/rules/lanes.ts'
import { Returns } from '../core/rules/returns.ts'
import { createRuleBook, type RuleBook } from '../core/rules/rule-book.ts'
import { type Alert, createRules, isToldTo, type Rules } from '../core/rules/rules.ts'
import type { EventStore } from '../core/sight/events.ts'
import type { PreservedStretch } from '../core/storage/storage-book.ts'
import type { HappenedStore } from '../io/happened-store.ts'
import { openReturns } from '../io/ptz-files.ts'
import { openRules } from '../io/reacting-files.ts'
import { createWebhookPoster } from '../io/rule-webhooks.ts'
import { newId } from '../io/state-files.ts'

/** What rules reach for. */
export interface RulingWorld {
  ledger: Pick<Ledger, 'happened' | 'onTold'>
  cameras(): CameraBook
  feed: Pick<StatusFeed<AccountRecord>, 'tellEach'>
  hasAccount(id: string): boolean
  preserve(wish: Omit<PreservedStretch, 'id'>): Promise<unknown>
  /** What was seen at a camera. */
  history: EventStore['density']
  /** IANA name. */
  zone(): string
  moves: Moves
  talker: Talker
}

interface RulingParts extends RulingWorld {
  outputs: Outputs
  happened: Pick<HappenedStore, 'putAlert'>
  /** Of cameras that are switched on. */
  cameraIds(): readonly string[]
}

export interface Ruling {
  book: RuleBook
  rules: Rules
  /** A camera claims something. */
  claimed(event: CameraEvent): void
  /** Hears of each alert, as one account that sees everything. @returns ends it */
  onAlert(listener: (alert: object) => void): () => void
  start(): void
  stop(): void
}

/** Who reads what is published, and is no administrator. */
const ANYBODY = { accountId: '', isAdministrator: false, sees: () => true }

export async function rulingOf(
  { clock, config, log, stateFolder }: AssembleContext<RecorderConfig>,
  parts: RulingParts,
): Promise<Ruling> {
  const { cameras, feed, happened, history, ledger, moves, outputs, preserve, talker, zone } = parts
  const bounds = config.rules
  const listeners = new Set<(alert: object) => void>()
  const cameraOf = (id: string) => cameras().find(id)
  const nameOf = (id: string) => cameraOf(id)?.name ?? id
  const world = { cameraOf, moves, talker, hasAccount: parts.hasAccount, checkTarget: parseTarget }
  const book = createRuleBook({
    ...{ clock, newId, most: bounds.max, onChange: () => rules.changed() },
    ...(await openRules(stateFolder, log)),
    check: (rule, all) => checkRule(world, rule, all),
  })
  const lanes = createLanes({ perTarget: bounds.waiting, inAll: bounds.total_waiting })
  const returns = new Returns({
    inTurn: (camera, task) => lanes.run(targetOfMoves(camera), task),
    ...{ clock, moves, ...(await openReturns(stateFolder, log)) },
    onUnsaved: (fault) => log.error('a way back of a camera is not kept', { fault }),
    onLost: ({ camera, rule }, fault) =>
      log.warning('a camera did not go back to its preset', { camera: nameOf(camera), rule, fault }),
  })
  const webhooks = createWebhookPoster({ clock, limits: { timeoutMs: bounds.webhook_timeout_ms } })
  const rules: Rules = createRules({
    perMinute: bounds.per_minute,
    onRepeating({ name: where }) {
      const sentence = `It would run more than ${bounds.per_minute} times in a minute: its own actions may trigger it. Give it a longer cooldown.`
      ledger.happened({ what: 'rule_repeats', where, severity: 'warning', sentence })
    },
    ...{ clock, book, lanes, newId, zone, history, cameras: parts.cameraIds },
    act: createActor({
      ...{ cameraOf, nameOf, outputs, webhooks, moves, returns, talker, preserve, book: () => book },
    }),
    keep: (alert) => happened.putAlert(alert),
    onAlert: tellAlert(feed, listeners, nameOf),
  })
  ledger.onTold((entry, event) => {
    if (event === 'opened') tellFault(rules, entry)
  })
  return {
    ...{ book, rules, claimed: (event) => claimed(rules, event) },
    onAlert(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    start: () => returns.start(),
    stop() {
      rules.stop()
      returns.stop()
    },
  }
}

/** Tells everybody who may see it. */
function tellAlert(
  feed: RulingParts['feed'],
  listeners: ReadonlySet<(alert: object) => void>,
  nameOf: (camera: string) => string,
) {
  return (alert: Alert): void => {
    for (const listener of listeners) listener(alertAnswerOf(alert, { ...ANYBODY, nameOf }))
    feed.tellEach((account) => {
      const sees = (camera: string) => maySee(account, camera)
      if (account.cameras !== 'all' && !isToldTo(alert, { sees })) return undefined
      const isAdministrator = account.role === 'administrator'
      return { type: 'alert', alert: alertAnswerOf(alert, { accountId: account.id, isAdministrator, sees, nameOf }) }
    })
  }
}

const ANY_VIEWER = { role: 'viewer', cameras: 'all' } as const

function tellFault(rules: Rules, entry: LedgerEntry): void {
  const { about: camera = null, lastAt: at, severity, what, where } = entry
  const facts = { fault: { code: what, where, severity, message: entry.sentence } }
  // An alert is read by accounts that are not told of the condition itself.
  const sentence = mayHear(ANY_VIEWER, entry) ? entry.sentence : 'An alarm was not delivered. Administrators see why.'
  rules.happened({ type: 'fault', at, camera, sentence, by: null, facts }, ({ trigger }) => {
    const codes = trigger.type === 'fault' ? trigger.codes : []
    return codes.length === 0 ? severity === 'fault' : codes.includes(what)
  })
}

function claimed(rules: Rules, { at, camera, kind, phase, summary: sentence, topic }: CameraEvent): void {
  if (phase === 'end') return
  const facts = { cameraEvent: { kind, topic, phase } }
  rules.happened({ type: 'camera_event', at, camera, sentence, by: null, facts }, ({ trigger }) => {
    const kinds = trigger.type === 'camera_event' ? trigger.kinds : []
    return kinds.length === 0 || kinds.includes(kind)
  })
}
