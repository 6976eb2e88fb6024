/** Rules at work, with everything that they reach for played. */
import { type FakeClock, fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import type { CameraRecord } from '../../../core/cameras/book.ts'
import { type ActionParts, createActor, type MoveOrder, targetOfMoves } from '../../../core/rules/actions.ts'
import { checkRule } from '../../../core/rules/check.ts'
import { createLanes } from '../../../core/rules/lanes.ts'
import { type PendingReturn, Returns } from '../../../core/rules/returns.ts'
import type { Action, Rule, Trigger } from '../../../core/rules/rule.ts'
import { createRuleBook, type RuleWish } from '../../../core/rules/rule-book.ts'
import { type Alert, createRules } from '../../../core/rules/rules.ts'
import type { DetectedEvent } from '../../../core/rules/triggers.ts'
import type { DensityWish, Slice } from '../../../core/sight/events.ts'

const outputs = { probedAt: 1, notes: null, list: [{ id: 'r1', kind: 'siren', name: 'Siren', driver: 'onvif' }] }
export const cameraOf = (id: string) =>
  ['yard', 'door'].includes(id) ? ({ id, name: id.toUpperCase(), outputs } as unknown as CameraRecord) : undefined

export const hook = (url: string, secret: string | null = null): Action => ({ type: 'webhook', url, secret })
export const notify: Action = { type: 'notify', userIds: ['ann'], channels: ['page'] }
export const wish = (trigger: Trigger, actions: Action[], more: Partial<RuleWish> = {}): RuleWish => ({
  ...{ name: 'Night', trigger, actions, cameraIds: [], labels: [], groups: [], schedule: null, cooldownSeconds: 0 },
  ...{ armed: true, ...more },
})
export const seen = (id: string, more: Partial<DetectedEvent> = {}): DetectedEvent => ({
  ...{ id, cameraId: 'yard', label: 'person', group: 'person', at: 5, region: [0.1, 0.2, 0.3, 0.4] },
  ...more,
})

/** What rules reach for. */
function played(clock: FakeClock) {
  const done: string[] = []
  const posted: { url: string; body: Record<string, unknown>; secret: string | null }[] = []
  const hanging = new Map<string, PromiseWithResolvers<void>>()
  const trouble = { aim: null as string | null, recall: null as string | null }
  const steering = new Map<string, number>()
  const slow = { recall: undefined as PromiseWithResolvers<void> | undefined }
  const moves = {
    presetTrouble: (_: string, preset: string) => (preset === 'gone' ? 'there is no preset gone.' : null),
    aimTrouble: () => trouble.aim,
    steered(camera: string) {
      const forMs = (steering.get(camera) ?? 0) - clock.monotonicMs()
      return forMs > 0 ? { sentence: 'ann steers the camera.', forMs } : undefined
    },
    note: async (camera: string, { operation, rule }: MoveOrder, detail: Readonly<Record<string, string>>) =>
      void done.push(`${camera} noted ${operation} of ${rule}: ${JSON.stringify(detail)}`),
    async recall(camera: string, preset: string, { operation, rule }: MoveOrder) {
      if (slow.recall) await slow.recall.promise
      if (trouble.recall !== null) throw new Fault(trouble.recall, 'The camera does not answer.')
      done.push(`${camera} to ${preset}${operation ? ` as ${operation} of ${rule}` : ''}`)
    },
    aim: async (camera: string, { region, zoom }: { region: readonly number[]; zoom: number | null }) =>
      void done.push(`${camera} at ${region.join(' ')} zoom ${zoom}`),
  }
  const talker = {
    trouble: (camera: string) => (camera === 'door' ? 'DOOR cannot speak.' : null),
    say: async (camera: string, { message, repeat }: { message: string; repeat: number }) =>
      void done.push(`${camera} says ${message} ${repeat}`),
  }
  const switched: ActionParts['outputs'] = {
    async switch(camera, { output, seconds, state }, by) {
      done.push(`${camera.id} ${output} ${state} ${seconds} by ${by.performedBy ?? 'nobody'} for ${by.rule}`)
      if (output === 'bad') throw new Fault('onvif_failed', 'The camera answered with a fault.')
      return { ...outputs.list[0], on: true, until: null } as never
    },
  }
  const webhooks: ActionParts['webhooks'] = {
    async post(url, body, secret) {
      await hanging.get(new URL(url).host)?.promise
      posted.push({ url, body: JSON.parse(body), secret })
    },
  }
  return { done, hanging, moves, posted, slow, steering, switched, talker, trouble, webhooks }
}

export function stage(pending: PendingReturn[] = []) {
  const clock = fakeClock()
  const reached = played(clock)
  const repeating: string[] = []
  const { done, moves, switched, talker, webhooks } = reached
  const alerts: Alert[] = []
  const kept: unknown[] = []
  const disk = { rules: [] as readonly Rule[], returns: pending }
  const lanes = createLanes({ perTarget: 3, inAll: 20 })
  const history = { slices: [] as Slice[], asked: [] as DensityWish[] }
  let ids = 0
  const newId = () => `n${++ids}`
  const world = {
    ...{ cameraOf, moves, talker, hasAccount: (id: string) => id === 'ann' },
    checkTarget(url: string) {
      if (!url.startsWith('http')) throw new Fault('bad_target', 'no address')
    },
  }
  const book = createRuleBook({
    ...{ clock, rules: [], newId, most: 5, onChange: () => rules.changed() },
    check: (rule, all) => checkRule(world, rule, all),
    async save(next) {
      disk.rules = next
    },
  })
  const returns = new Returns({
    ...{ clock, moves, pending },
    inTurn: (camera, task) => lanes.run(targetOfMoves(camera), task),
    async save(next) {
      disk.returns = next
    },
    onUnsaved: () => {},
    onLost: ({ camera }, { code }) => void done.push(`${camera} did not go back: ${code}`),
  })
  returns.start()
  const act = createActor({
    ...{ cameraOf, nameOf: (id) => cameraOf(id)?.name ?? id, moves, returns, talker, book: () => book },
    outputs: switched,
    webhooks,
    preserve: async (stretch) => void kept.push(stretch),
  })
  const rules = createRules({
    perMinute: 5,
    onRepeating: ({ name }) => void repeating.push(name),
    ...{ clock, book, act, newId, zone: () => 'UTC', cameras: () => ['yard', 'door'] },
    async history(wish) {
      history.asked.push(wish)
      return wish.camera === 'yard' ? history.slices : []
    },
    lanes,
    keep: () => {},
    onAlert: (alert) => void alerts.push(alert),
  })
  const settle = async () => {
    for (let at = 0; at < 60; at++) await Promise.resolve()
  }
  async function pass(ms: number) {
    clock.advance(ms)
    await settle()
  }
  const of = (type: Alert['triggerType']) => alerts.filter(({ triggerType }) => triggerType === type)
  return { ...reached, repeating, alerts, book, clock, disk, history, kept, of, pass, rules, settle }
}
