/** Puts together what happens at cameras and what is done about it: their events, their outputs, and rules. */
import { atMost } from '#kit/clock.ts'
import type { Route } from '#kit/http/route.ts'
import type { Ledger } from '#kit/records/ledger.ts'
import type { Recorder } from '#kit/records/records.ts'
import type { AssembleContext } from '#kit/run/daemon.ts'
import type { Part } from '#kit/run/parts.ts'
import type { Callers } from '../api/callers.ts'
import { cameraEventAnswerOf, cameraEventRoutes } from '../api/camera-event-routes.ts'
import { outputRoutes } from '../api/output-routes.ts'
import { ruleRoutes } from '../api/rule-routes.ts'
import type { RecorderConfig } from '../config.ts'
import type { AccountRecord } from '../core/access/accounts.ts'
import { type CameraEvent, type CameraEvents, createCameraEvents } from '../core/camera-events/camera-events.ts'
import type { CameraEventsStatus } from '../core/camera-events/meaning.ts'
import type { CameraRecord } from '../core/cameras/book.ts'
import type { OnvifClient } from '../core/cameras/onvif.ts'
import type { Writes } from '../core/clocks/writes.ts'
import type { StatusFeed } from '../core/live/feed.ts'
import { createDahuaOutputs } from '../core/outputs/dahua-driver.ts'
import { createOnvifOutputs, type OutputDriver } from '../core/outputs/onvif-driver.ts'
import { joinDrivers, Outputs } from '../core/outputs/outputs.ts'
import type { Rules } from '../core/rules/rules.ts'
import { HAPPENED_FILE, openHappened } from '../io/happened-store.ts'
import { openOutputs } from '../io/reacting-files.ts'
import { cameraWebOf, onvifOf } from './discovery.ts'
import { type Ruling, type RulingWorld, rulingOf } from './ruling.ts'

/** When the daemon stops: how long it waits for cameras to be unsubscribed from and for outputs to be switched off. */
const LAST_MS = 3000

type Context = AssembleContext<RecorderConfig>

interface ReactingParts extends RulingWorld {
  ledger: Ledger
  recorder: Recorder
  writes: Pick<Writes, 'add'>
  feed: Pick<StatusFeed<AccountRecord>, 'changed' | 'tell' | 'tellEach'>
  /** A camera claims something. */
  onClaim(event: CameraEvent): void
}

/** What happens at cameras, and what is done about it. */
export interface Reacting extends Pick<Ruling, 'onAlert'> {
  /** How listening to a camera goes; null: nobody does. */
  eventsStatus(camera: string): CameraEventsStatus | null
  /** Something was seen at a camera. */
  detected: Rules['detected']
  /** These cameras are there now. */
  camerasAre(records: readonly CameraRecord[]): void
  routes(callers: Callers): Route[]
  part: Part
}

export async function createReacting(context: Context, parts: ReactingParts): Promise<Reacting> {
  const { clock, config, log, stateFolder } = context
  const { cameras, feed, ledger } = parts
  const bounds = config.camera_events
  const onvif = onvifOf(context, { answerBytes: bounds.answer_bytes })
  const happened = openHappened({
    ...{
      clock,
      log,
      stateFolder,
      limits: { events: bounds.kept, alerts: config.rules.alerts_kept, waiting: bounds.waiting },
    },
    onDisk(fault) {
      if (!fault) return ledger.clear('state_unwritable', HAPPENED_FILE)
      const sentence = `What happened at cameras is not kept: ${fault.message}. Make room, or look at the disk.`
      ledger.raise({ what: 'state_unwritable', where: HAPPENED_FILE, severity: 'fault', sentence })
    },
  })

  function onEvent(event: CameraEvent): void {
    happened.addEvent(event)
    const name = cameras().find(event.camera)?.name ?? ''
    feed.tell(event.camera, { type: 'camera-event', event: cameraEventAnswerOf(event, name) })
    ruling.claimed(event)
    parts.onClaim(event)
  }

  const events = eventsOf(context, parts, { onvif, onEvent })
  const driver = joinDrivers({
    onvif: createOnvifOutputs(onvif),
    dahua: createDahuaOutputs(cameraWebOf(context, { answerBytes: bounds.answer_bytes })),
  })
  const outputs = await outputsOf(context, parts, driver)
  let ids: readonly string[] = []
  const ruling = await rulingOf(context, { ...parts, outputs, happened, cameraIds: () => ids })

  return {
    eventsStatus: (camera) => events.status(camera),
    detected: ruling.rules.detected,
    onAlert: ruling.onAlert,
    camerasAre(records) {
      // That nobody is seen at one that is switched off says nothing.
      ids = records.filter(({ enabled }) => enabled).map(({ id }) => id)
      events.keep(records)
      ruling.rules.changed()
    },
    routes: (callers) => [
      ...cameraEventRoutes({ callers, cameras: cameras(), events: (query) => happened.events(query) }),
      ...outputRoutes({ callers, cameras: cameras(), outputs, recorder: parts.recorder }),
      ...ruleRoutes({
        ...{ ...ruling, clock, callers, ledger, cameras: cameras(), recorder: parts.recorder },
        alerts: (query) => happened.alerts(query),
      }),
    ],
    part: {
      name: 'reacting',
      start() {
        events.start()
        outputs.start()
        ruling.start()
      },
      async stop() {
        ruling.stop()
        await atMost(clock, LAST_MS, Promise.all([outputs.stop(), events.stop()]))
        await happened.close()
      },
    },
  }
}

async function outputsOf(
  { clock, config, log, stateFolder }: Context,
  { cameras, feed, ledger, writes }: ReactingParts,
  driver: OutputDriver,
): Promise<Outputs> {
  const bounds = config.outputs
  const cameraOf = (id: string) => cameras().find(id)
  return new Outputs({
    ...{ clock, cameraOf, writes, mostWaiting: bounds.waiting, driver },
    ...(await openOutputs(stateFolder, log)),
    retry: { firstMs: bounds.retry_first_ms, maxMs: bounds.retry_max_ms },
    onSwitched(camera, id, now) {
      feed.tell(camera, { type: 'camera-output', id, ...now })
    },
    onStuck(camera, id, why) {
      const where = `${cameraOf(camera)?.name ?? camera}, ${id}`
      if (why === null) return ledger.clear('output_stuck', where, camera)
      const sentence = `It should be off by now, and is not: ${why} It is tried again.`
      ledger.raise({ what: 'output_stuck', where, about: camera, severity: 'fault', sentence })
    },
  })
}

function eventsOf(
  { clock, config }: Context,
  { feed, ledger }: ReactingParts,
  { onEvent, onvif }: { onvif: OnvifClient; onEvent(event: CameraEvent): void },
): CameraEvents {
  const bounds = config.camera_events
  return createCameraEvents({
    ...{ clock, onvif, onEvent, onChange: () => feed.changed() },
    limits: {
      ...{ holdMs: bounds.hold_ms, leastMs: bounds.least_ms, lifeMs: bounds.life_ms, perMinute: bounds.per_minute },
      retry: { firstMs: config.cameras.retry_first_ms, maxMs: config.cameras.retry_max_ms },
    },
    onFlood({ id, name }, isFlooding) {
      const sentence = `It tells more than ${bounds.per_minute} events in a minute; the others are left out.`
      if (isFlooding) ledger.raise({ what: 'camera_chatters', where: name, about: id, severity: 'warning', sentence })
      else ledger.clear('camera_chatters', name, id)
    },
  })
}
