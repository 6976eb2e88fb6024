/** The master node state machine of MS/TP: when this node may send, to whom it passes the token, whom it looks for. */
import { BROADCAST, expectsReply, FRAME_TYPES, isReply, type MstpFrame } from '../../wire/mstp/frame.ts'

export type MasterState =
  | 'initialize'
  | 'idle'
  | 'useToken'
  | 'waitForReply'
  | 'doneWithToken'
  | 'passToken'
  | 'noToken'
  | 'pollForMaster'
  | 'answerDataRequest'

/** The transitions of the standard, by its names. */
export type MasterEvent =
  | 'doneInitializing'
  | 'lostToken'
  | 'receivedInvalidFrame'
  | 'receivedUnwantedFrame'
  | 'receivedToken'
  | 'receivedPfm'
  | 'receivedDataNoReply'
  | 'receivedDataNeedingReply'
  | 'nothingToSend'
  | 'sendNoWait'
  | 'sendAndWait'
  | 'replyTimeout'
  | 'invalidFrame'
  | 'receivedReply'
  | 'receivedPostpone'
  | 'receivedUnexpectedFrame'
  | 'sendAnotherFrame'
  | 'nextStationUnknown'
  | 'soleMaster'
  | 'sendToken'
  | 'sendMaintenancePfm'
  | 'resetMaintenancePfm'
  | 'soleMasterRestartMaintenancePfm'
  | 'sawTokenUser'
  | 'retrySendToken'
  | 'findNewSuccessor'
  | 'sawFrame'
  | 'generateToken'
  | 'receivedReplyToPfm'
  | 'doneWithPfm'
  | 'sendNextPfm'
  | 'declareSoleMaster'
  | 'reply'
  | 'deferredReply'
  // Not of the standard: the node could not send in its time.
  | 'turnGivenUp'

/** @source ANSI/ASHRAE 135-2016, 9.5.6 */
export const mstpMasterTable: Readonly<Record<MasterState, Partial<Record<MasterEvent, MasterState>>>> = {
  initialize: { doneInitializing: 'idle' },
  idle: {
    lostToken: 'noToken',
    receivedInvalidFrame: 'idle',
    receivedUnwantedFrame: 'idle',
    receivedToken: 'useToken',
    receivedPfm: 'idle',
    receivedDataNoReply: 'idle',
    receivedDataNeedingReply: 'answerDataRequest',
  },
  useToken: { nothingToSend: 'doneWithToken', sendNoWait: 'doneWithToken', sendAndWait: 'waitForReply' },
  waitForReply: {
    replyTimeout: 'doneWithToken',
    invalidFrame: 'doneWithToken',
    receivedReply: 'doneWithToken',
    receivedPostpone: 'doneWithToken',
    receivedUnexpectedFrame: 'idle',
    turnGivenUp: 'idle',
  },
  doneWithToken: {
    sendAnotherFrame: 'useToken',
    nextStationUnknown: 'pollForMaster',
    soleMaster: 'useToken',
    sendToken: 'passToken',
    sendMaintenancePfm: 'pollForMaster',
    resetMaintenancePfm: 'passToken',
    soleMasterRestartMaintenancePfm: 'pollForMaster',
  },
  passToken: {
    sawTokenUser: 'idle',
    retrySendToken: 'passToken',
    findNewSuccessor: 'pollForMaster',
    turnGivenUp: 'idle',
  },
  noToken: { sawFrame: 'idle', generateToken: 'pollForMaster' },
  pollForMaster: {
    receivedReplyToPfm: 'passToken',
    receivedUnexpectedFrame: 'idle',
    soleMaster: 'useToken',
    doneWithPfm: 'passToken',
    sendNextPfm: 'pollForMaster',
    declareSoleMaster: 'useToken',
    turnGivenUp: 'idle',
  },
  answerDataRequest: { reply: 'idle', deferredReply: 'idle' },
}

/** How many tokens are used until the addresses after this node are polled. @source ANSI/ASHRAE 135-2016, 9.5.3 */
export const N_POLL = 50
/** How often passing the token is tried again. @source ANSI/ASHRAE 135-2016, 9.5.3 */
const N_RETRY_TOKEN = 1
/** How many octets show that the line is in use. @source ANSI/ASHRAE 135-2016, 9.5.3 */
const N_MIN_OCTETS = 4
/** Without an octet for so long the token is lost. @source ANSI/ASHRAE 135-2016, 9.5.3 */
export const T_NO_TOKEN_MS = 500
/** Each address may make a new token in a slot of its own. @source ANSI/ASHRAE 135-2016, 9.5.3 */
export const T_SLOT_MS = 10

/** The silence at which the slot of a station begins. */
function slotMs(station: number): number {
  return T_NO_TOKEN_MS + T_SLOT_MS * station
}

export interface MasterSettings {
  mac: number
  maxMaster: number
  maxInfoFrames: number
  /** Treply_timeout, 255 to 300 ms. */
  replyTimeoutMs: number
  /** Tusage_timeout, 20 to 100 ms. */
  usageTimeoutMs: number
}

/** What the machine asks of its node. */
export interface MasterHooks<Outgoing> {
  /** Sends a frame of the ring itself: it waits for Tturnaround, and the machine waits for it. */
  send(frame: MstpFrame): void
  /** Sends the next frame that waits, if there is one. @returns what was sent */
  sendNext(): { outgoing: Outgoing; frame: MstpFrame } | undefined
  onReply(outgoing: Outgoing, frame: MstpFrame): void
  /** The reply comes when the other node has the token. */
  onPostponed(outgoing: Outgoing): void
  /** @param why no frame came in time; a damaged one came; or one that is no reply, so that the token was dropped */
  onNoReply(outgoing: Outgoing, why: 'timeout' | 'damaged' | 'unexpected'): void
  onTransition(event: MasterEvent, previous: MasterState): void
}

/** The node as the standard has it; its timers are silences, which the node measures. */
export class MstpMaster<Outgoing> {
  readonly #settings: MasterSettings
  readonly #hooks: MasterHooks<Outgoing>
  #state: MasterState = 'initialize'
  /** NS: to whom the token is passed; TS where nobody is known. */
  #next: number
  /** PS: who was polled last. */
  #polled: number
  #tokenCount = N_POLL
  #frameCount = 0
  #retryCount = 0
  #eventCount = 0
  #isSole = false
  #waiting: Outgoing | undefined
  /** Where the reply goes: a caller may name another source than this node. */
  #replyTo = 0

  constructor(settings: MasterSettings, hooks: MasterHooks<Outgoing>) {
    this.#settings = settings
    this.#hooks = hooks
    this.#next = settings.mac
    this.#polled = settings.mac
    this.#move('doneInitializing')
  }

  get state(): MasterState {
    return this.#state
  }

  /** Who has the token after us; undefined where nobody is known. */
  get nextStation(): number | undefined {
    return this.#next === this.#settings.mac ? undefined : this.#next
  }

  get isSoleMaster(): boolean {
    return this.#isSole
  }

  /** The silence after which `silence` has something to do, ms; never before `silentMs`. */
  dueMs(silentMs: number): number {
    const { mac, maxMaster, replyTimeoutMs, usageTimeoutMs } = this.#settings
    if (this.#state === 'waitForReply') return replyTimeoutMs
    if (this.#state === 'passToken' || this.#state === 'pollForMaster') return usageTimeoutMs
    if (this.#state === 'idle') return T_NO_TOKEN_MS
    return silentMs < slotMs(mac + 1) ? slotMs(mac) : slotMs(maxMaster + 1)
  }

  /** Octets came, whatever they say. @source ANSI/ASHRAE 135-2016, 9.5.2 EventCount */
  octets(count: number): void {
    this.#eventCount += count
  }

  /** After the frames of the octets: the line is in use by somebody else. */
  inUse(): void {
    if (this.#eventCount <= N_MIN_OCTETS) return
    if (this.#state === 'passToken') this.#move('sawTokenUser')
    else if (this.#state === 'noToken') this.#move('sawFrame')
  }

  /** @param isForUs it is for this node or for all, and fresh enough to be answered */
  frame(frame: MstpFrame, isForUs: boolean) {
    // These two wait for any octets: then the frame is one for an idle node.
    this.inUse()
    switch (this.#state) {
      case 'idle':
        return this.#frameInIdle(frame, isForUs)
      case 'waitForReply':
        return this.#frameInWait(frame)
      case 'pollForMaster':
        return this.#frameInPoll(frame)
    }
  }

  /** A frame with a wrong checksum, or one that broke off. */
  invalidFrame(): void {
    if (this.#state === 'idle') this.#move('receivedInvalidFrame')
    else if (this.#state === 'waitForReply') {
      this.#endWait('invalidFrame', (waiting) => this.#hooks.onNoReply(waiting, 'damaged'))
    } else if (this.#state === 'pollForMaster') this.#notAnswered()
  }

  /** What was to be sent was not: the moment is over, and the token with it. */
  giveUpTurn(): void {
    this.#waiting = undefined
    if (mstpMasterTable[this.#state].turnGivenUp) this.#move('turnGivenUp')
  }

  /** The line has been silent for so long. */
  silence(silentMs: number) {
    if (silentMs < this.dueMs(silentMs)) return
    switch (this.#state) {
      case 'idle':
        this.#eventCount = 0
        return this.#move('lostToken')
      case 'waitForReply':
        this.#frameCount = this.#settings.maxInfoFrames
        return this.#endWait('replyTimeout', (waiting) => this.#hooks.onNoReply(waiting, 'timeout'))
      case 'passToken':
        return this.#notTaken()
      case 'noToken':
        return this.#slot(silentMs)
      case 'pollForMaster':
        return this.#notAnswered()
    }
  }

  #move(event: MasterEvent): void {
    const previous = this.#state
    const next = mstpMasterTable[previous][event]
    if (next === undefined) throw new RangeError(`${event} in state ${previous}`)
    this.#state = next
    this.#hooks.onTransition(event, previous)
  }

  // IDLE: a frame arrives. 9.5.6.2

  #frameInIdle(frame: MstpFrame, isForUs: boolean) {
    const { destination, frameType } = frame
    const isBroadcast = destination === BROADCAST
    if (isForUs && frameType === FRAME_TYPES.TOKEN && !isBroadcast) return this.#receivedToken()
    if (isForUs && frameType === FRAME_TYPES.POLL_FOR_MASTER && !isBroadcast) {
      this.#move('receivedPfm')
      return this.#sendTo(FRAME_TYPES.REPLY_TO_POLL_FOR_MASTER, frame.source)
    }
    if (isForUs && expectsReply(frame)) {
      this.#move('receivedDataNeedingReply')
      return this.#answer(frame)
    }
    if (!isForUs || !isReply(frame)) return this.#move('receivedUnwantedFrame')
    this.#move('receivedDataNoReply')
  }

  #receivedToken(): void {
    this.#frameCount = 0
    this.#isSole = false
    this.#move('receivedToken')
    this.#useToken()
  }

  /** 9.5.6.9: nobody here answers at once, but a test is answered by the node itself. */
  #answer({ data, frameType, source }: MstpFrame): void {
    const isTest = frameType === FRAME_TYPES.TEST_REQUEST
    this.#move(isTest ? 'reply' : 'deferredReply')
    if (isTest) this.#hooks.send({ ...this.#headTo(FRAME_TYPES.TEST_RESPONSE, source), data })
    else this.#sendTo(FRAME_TYPES.REPLY_POSTPONED, source)
  }

  // USE_TOKEN and DONE_WITH_TOKEN: 9.5.6.3 and 9.5.6.5. A loop, for a node that sends frame after frame.

  #useToken(): void {
    while (this.#state === 'useToken' || this.#state === 'doneWithToken') {
      if (this.#state === 'useToken') this.#sendOne()
      else this.#doneWithToken()
    }
  }

  #sendOne() {
    const sent = this.#hooks.sendNext()
    if (!sent) {
      this.#frameCount = this.#settings.maxInfoFrames
      return this.#move('nothingToSend')
    }
    this.#frameCount++
    if (expectsReply(sent.frame)) {
      this.#waiting = sent.outgoing
      this.#replyTo = sent.frame.source
      return this.#move('sendAndWait')
    }
    this.#move('sendNoWait')
  }

  #doneWithToken() {
    const { mac, maxInfoFrames } = this.#settings
    if (this.#frameCount < maxInfoFrames) return this.#move('sendAnotherFrame')
    if (!this.#isSole && this.#next === mac) return this.#poll('nextStationUnknown', this.#after(mac))
    if (this.#tokenCount < N_POLL - 1) {
      this.#tokenCount++
      if (!this.#isSole) return this.#pass('sendToken')
      this.#frameCount = 0
      return this.#move('soleMaster')
    }
    if (this.#after(this.#polled) !== this.#next) return this.#poll('sendMaintenancePfm', this.#after(this.#polled))
    this.#tokenCount = 1
    if (this.#isSole) {
      this.#poll('soleMasterRestartMaintenancePfm', this.#after(this.#next))
      this.#next = mac
      return
    }
    this.#polled = mac
    this.#pass('resetMaintenancePfm')
  }

  // WAIT_FOR_REPLY: 9.5.6.4

  #frameInWait(frame: MstpFrame) {
    if (frame.destination !== this.#replyTo) return this.#unexpected()
    if (frame.frameType === FRAME_TYPES.REPLY_POSTPONED)
      return this.#endWait('receivedPostpone', (waiting) => this.#hooks.onPostponed(waiting))
    if (!isReply(frame)) return this.#unexpected()
    this.#endWait('receivedReply', (waiting) => this.#hooks.onReply(waiting, frame))
  }

  /** Somebody else is sending: there may be several tokens, so this one is dropped. */
  #unexpected(): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    this.#move('receivedUnexpectedFrame')
    if (waiting !== undefined) this.#hooks.onNoReply(waiting, 'unexpected')
  }

  #endWait(event: MasterEvent, tell: (waiting: Outgoing) => void): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    this.#move(event)
    if (waiting !== undefined) tell(waiting)
    this.#useToken()
  }

  // PASS_TOKEN, NO_TOKEN, POLL_FOR_MASTER: 9.5.6.6 to 9.5.6.8

  #notTaken() {
    if (this.#retryCount < N_RETRY_TOKEN) {
      this.#retryCount++
      this.#eventCount = 0
      this.#move('retrySendToken')
      return this.#sendTo(FRAME_TYPES.TOKEN, this.#next)
    }
    this.#poll('findNewSuccessor', this.#after(this.#next))
    this.#next = this.#settings.mac
    this.#tokenCount = 0
    this.#eventCount = 0
  }

  /** The slot of this node; who wakes too late for it leaves the others theirs, until all have passed. */
  #slot(silentMs: number) {
    const { mac, maxMaster } = this.#settings
    if (silentMs >= slotMs(mac + 1) && silentMs < slotMs(maxMaster + 1)) return
    this.#poll('generateToken', this.#after(mac))
    this.#next = mac
    this.#tokenCount = 0
    this.#eventCount = 0
  }

  #frameInPoll(frame: MstpFrame) {
    const { mac } = this.#settings
    if (frame.destination !== mac || frame.frameType !== FRAME_TYPES.REPLY_TO_POLL_FOR_MASTER) return this.#unexpected()
    this.#isSole = false
    this.#next = frame.source
    this.#polled = mac
    this.#tokenCount = 0
    this.#pass('receivedReplyToPfm')
  }

  /** Nobody, or nobody who can be understood, has answered the poll. */
  #notAnswered() {
    const { mac } = this.#settings
    if (this.#isSole) {
      this.#frameCount = 0
      this.#move('soleMaster')
      return this.#useToken()
    }
    if (this.#next !== mac) return this.#pass('doneWithPfm')
    if (this.#after(this.#polled) !== mac) return this.#poll('sendNextPfm', this.#after(this.#polled))
    this.#isSole = true
    this.#frameCount = 0
    this.#move('declareSoleMaster')
    this.#useToken()
  }

  #pass(event: MasterEvent): void {
    this.#retryCount = 0
    this.#eventCount = 0
    this.#move(event)
    this.#sendTo(FRAME_TYPES.TOKEN, this.#next)
  }

  #poll(event: MasterEvent, station: number): void {
    this.#polled = station
    this.#retryCount = 0
    this.#move(event)
    this.#sendTo(FRAME_TYPES.POLL_FOR_MASTER, station)
  }

  /** The address after this one, of those that may be masters. */
  #after(station: number): number {
    return (station + 1) % (this.#settings.maxMaster + 1)
  }

  #sendTo(frameType: number, destination: number): void {
    this.#hooks.send({ ...this.#headTo(frameType, destination), data: new Uint8Array(0) })
  }

  #headTo(frameType: number, destination: number) {
    return { frameType, destination, source: this.#settings.mac }
  }
}
