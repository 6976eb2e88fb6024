/**
 * The texts of the controller's pages: labels, hints, questions, verdicts, toasts, empty states. Sorted by the file
 * that uses them; a text used by several is listed with the first. Text between the tags of a template stays in the
 * template.
 */
import { counted } from '#kit/pure/text.ts'
import { many, THIN, whole } from '#kit/web/numbers.ts'

// On every page (main.ts)

export const zones = 'Zones'
export const pending = 'Pending'
export const today = 'Today'
export const audit = 'Audit'
export const schedule = 'Schedule'
export const system = 'System'
export const account = 'Account'
export const askingControllerWhoYou = 'Asking the controller who you are'
export const unnamedSite = 'Unnamed site'
export const notLive = 'Not live'
export const controller = 'Controller'

// Signing in (sign-in.ts)

export const missingCredentialMeans = 'Enter both the user name and the password.'
export const invalidCredentialMeans =
  'No account that may sign in here has this name and password. Check both; the password is case-sensitive.'
export const remoteDeniedMeans =
  "This account signs in from the site's own network only. Connect to it, then try again."
export const noSitesMeans = 'This account belongs to no site yet. An administrator adds it to one.'
export const noRolesMeans = 'This account has no role yet. An administrator gives it one.'
export const noMailAddressMeans =
  'This account needs a mailed code and has no mail address. An administrator enters one.'
export const wrongCodeMeans =
  'This is not the code of the newest mail, or it has expired. Check the mail, or have a new code sent.'
export const controllerRefused = (text: string) => `The controller refused: ${text}`
export const codeHasExpired = 'This code has expired. Have a new one sent.'
export const goodForAnother = (minutes: number, seconds: string) => `Good for another ${minutes}:${seconds}.`
export const codeFromMail = 'Code from the mail'
export const signIn = 'Sign in'
export const signInAgain = 'Sign in again'
export const shownFrom = (since: string) => ` What it shows is from ${since}.`
export const typeCodeWasMailed = 'Type the code that was mailed.'
export const noAnswerAtSignIn =
  'The controller does not answer. What you typed stays here; sign in when it answers again.'
export const userName = 'User name'
export const password = 'Password'
export const pin = 'PIN'
export const signInByPin = 'Sign in by PIN'
export const signInByPassword = 'Sign in by password'
export const invalidPinMeans = 'No account that may sign in here has this name and PIN. Check both.'
export const pinIsForTheBuilding = 'A PIN is taken from inside the building alone. Sign in by password.'
export const missingPin = 'Enter both the user name and the PIN.'
export const presentPassword = 'Present password'
export const newPassword = 'New password'
export const changePassword = 'Change password'
export const passwordChanged = 'Your password is changed. Other sessions of yours have ended.'
export const chooseNewPassword = 'Choose a new password'
export const codeHint = 'Six letters and digits; upper or lower case.'
export const code = 'Code'
export const newCodeInS = (waitS: number) => `New code in ${waitS} s`
export const sendNewCode = 'Send a new code'
export const name = 'Name'
export const roles = 'Roles'
export const elevated = 'Elevated'
export const elevatedMeans = 'yes: sees everything, and may change it'
export const notElevatedMeans = 'no: sees the zones of its UIs'

// First run (set-up.ts)

export const atLeastCharacters = (least: number) => `At least ${least} characters.`
export const nameOfBuilding = 'Name of the building'
export const buildingNameHint = 'Shown on every page. Example: Harbour House.'

// States of zones, verdict over all (zone-words.ts)

export const on = 'On'
export const off = 'Off'
export const open = 'Open'
export const closed = 'Closed'
export const opens = 'Opens'
export const closes = 'Closes'
export const plays = 'Plays'
export const stopped = 'Stopped'
export const heats = 'Heats'
export const cools = 'Cools'
export const idle = 'Idle'
export const notHeardSinceControllerStarted = 'Not heard since the controller started.'
export const onlyElevatedRolesCommand = 'Only elevated roles command this.'
export const yourRoleMayLookNotCommand = 'Your role may look, not command.'
export const stateIsNotReported = 'The device does not report the state of this.'
export const noContactWithDevice = 'No contact with its device.'
export const noContactSince = (since: string) => `No contact since ${since}`
export const ago = (since: string, age: string) => `${since}, ${age} ago.`
export const zoneIsKnown = 'The zone is known.'
export const areKnown = (zones: number) => `${whole(zones, 'zones')} are known.`
export const areUnknown = (zones: number) => `${whole(zones, 'zones')} are unknown.`
export const noneReports = 'None of their devices reports. Check the network between the controller and its devices.'
export const someUnknown = (unknown: number, zones: number, verb: string) =>
  `${unknown} of ${many(zones, 'zone')} ${verb} unknown.`
export const commandsAreStillTried = (names: string) => `${names}. Commands are still tried.`
export const nothingIsOn = 'Nothing is on.'
export const areOn = (names: string, number: number) => `${names} ${number === 1 ? 'is' : 'are'} on.`
export const noZones = 'No zones'
export const unknown = (unknown: number) => `${unknown} unknown`
export const areSilent = (names: string, zones: number) => `${names} ${zones === 1 ? 'is' : 'are'} silent.`
export const silentMeans = 'A source is chosen, and no sound of it arrives. The page of the board says why.'
export const silent = (zones: number) => `${zones} silent`

// Pictures of cameras (still.ts)

export const cameraShows = (name: string) => `${name}, as its camera sees it`
export const noCameraPicture = 'There is no picture of this camera now.'

// Zones (zones-page.ts)

export const unauthorizedMeans = 'Your role does not allow this here.'
export const unknownTargetMeans = 'The building no longer has this zone. Reload the page.'
export const unknownMacroMeans = 'This macro no longer exists.'
export const commandRequiredMeans = 'The controller found no command in what this page sent.'
export const theDevice = 'The device'
export const doesNotAnswer = (name: string) => `${name} does not answer. Try again.`
export const couldNotDoIt = (name: string) => `${name} could not do this. Try again.`
export const isBusy = (name: string) => `${name} is busy. Try again in a moment.`
export const isNotSetUp = (name: string) => `${name} is not connected to anything yet.`
export const isDisabled = (name: string) => `${name} is switched off in the settings.`
export const isDisabledThere = (name: string) => `This is switched off for ${name} in the settings.`
export const driverSays = (said: string) => `Its driver says: ${said}`
export const notAuthorizedMeans = 'It includes something that your role does not allow.'
export const macroRunsAlready = 'The macro is already running.'
export const macroWaitTimeoutMeans = 'What it waited for did not happen in time.'
export const macroTimedOutMeans = 'It did not finish in time.'
export const noAnswerFromController = 'No answer from the controller, so it is not known whether this was done.'
export const notDoneStepFailedAndMacro = 'Not done: a step failed, and the macro ended there.'
export const notDone = (said: string) => `Not done: ${said}`
export const failed = 'it failed'
export const step = (place: string, step: string, words: string, why: string) =>
  `Step ${place}${step}, ${words}: ${why}`
export const stop = 'Stop'
export const close = 'Close'
export const muted = 'Muted'
export const mute = 'Mute'
export const source = 'source'
export const nothingPlays = 'Nothing'
export const sent = (verb: string) => `Sent: ${verb}.`
export const runs = 'Runs.'
export const stillRunsBegunBefore = (at: string) => `Still runs; begun before ${at}.`
export const endedAt = (at: string, failed: number) => `Ended at ${at}, with ${many(failed, 'failed step')}.`
export const ranEnded = (at: string) => `Ran, ended at ${at}.`
export const run = (name: string) => `Run ${name}`
export const nextZone = 'next zone'
export const zoneBefore = 'zone before'
export const filterRoomsAndZones = 'Filter rooms and zones'
export const roomOrZone = 'Room or zone'
export const noRoomAndNoZoneMatches = (filter: string) => `No room and no zone matches ${filter}`
export const zonesAreHidden = (zones: number) => `${zones} are hidden. Esc empties the filter.`
export const theyAreFromAgo = (time: string, age: string) =>
  ` They are from ${time}, ${age} ago, and are read every 10 s until changes arrive by themselves again.`
export const askingControllerForZones = 'Asking the controller for the zones'
export const usuallyBrief = 'This usually takes less than a second.'
export const zonesCouldNotBeRead = 'The zones could not be read'
export const noZonesForYou = 'No zones are yours to command yet'
export const howZonesBecomeYours =
  'An administrator puts rooms or zones onto a UI that your role allows. They appear here by themselves.'
export const commandIsCopied = 'The command is copied.'
export const buildingHasNoZonesYet = 'This building has no zones yet'
export const howToImport =
  'Import a site file on the machine that the controller runs on. Its changes wait under Pending until they are applied.'
export const allZones = 'All zones'
export const favouritesTitle = 'Favourites'
export const isFavourite = (name: string) => `${name}: favourite`
export const rooms = 'Rooms'
export const allRooms = 'All rooms'
export const nothingOn = 'Nothing on'
export const isOnThere = (names: string) => `${names} on`
export const someDoNotAnswer = 'something there is unknown'
export const allMacros = (count: number) => `All ${counted(count, 'macro')}`
export const otherMacros = (count: number) => counted(count, 'other macro')
export const floorPlan = 'Floor plan'
export const notInRoom = 'Not in a room'
export const anotherStep = (type: string) => `a ${type}`
export const commandOn = (command: string, target: string) => `${command} on ${target}`
export const zoneNumber = (id: unknown) => `zone ${id}`
export const deviceNumber = (id: unknown) => `device ${id}`
export const humid = (percent: string) => `Humidity ${percent}${THIN}%`
export const unknownValue = 'unknown'
export const warmer = 'warmer'
export const cooler = 'cooler'

// Floor plan (plan-page.ts)

export const noPlans = 'No floor plan yet'
export const howPlansAreMade =
  'A floor plan is a picture of a floor with the zones where they are. Whoever presses one has its controls.'
export const makePlan = 'Make a plan'
export const editPlans = 'Edit plans'
export const floor = 'Floor'
export const planOf = (name: string) => `Floor plan: ${name}`
export const pictureIsMissing = 'The picture of this plan could not be shown. Its zones are in the list.'
export const larger = 'Larger'
export const onThisPlan = 'On this plan'
export const noZonesOnPlan = 'No zones are on this plan yet.'

// Editing floor plans (plan-editor.ts)

export const askingForPlans = 'Asking for the plans'
export const plansCouldNotBeRead = 'The plans could not be read'
export const plans = 'Floor plans'
export const newPlan = 'New plan'
export const planIsGone = 'This plan is not there any more'
export const somebodyRemovedPlan = 'Somebody has removed it meanwhile.'
export const noUis = 'There is no UI yet'
export const whatUisAre =
  'A plan belongs to a UI, and whoever may see the UI may see the plan. Make one under Site, in the table UIs, and allow it to a role.'
export const planName = 'Name of the floor'
export const planUi = 'UI'
export const planUiHint = 'Whoever may see this UI sees the plan, with those of its zones that are theirs.'
export const picture = 'Picture'
export const pictureHint = 'PNG, JPEG or WebP. SVG is not taken: it may run scripts.'
export const pickPicture = 'Pick a picture'
export const otherPicture = 'Other picture'
export const sendingPicture = 'Sending the picture'
export const firstPicture = 'Pick the picture of the floor first.'
export const addZone = 'Add a zone'
export const chooseZone = 'Choose a zone'
export const fromLeft = 'from the left'
export const fromTop = 'from the top'
export const fromLeftOf = (name: string) => `${name}: per cent from the left`
export const fromTopOf = (name: string) => `${name}: per cent from the top`
export const placedAt = (name: string, x: string, y: string) =>
  `${name}: ${x} % from the left, ${y} % from the top. Arrow keys move it.`
export const takeOff = (name: string) => `Take ${name} off the plan`
export const zonesOn = (count: number) => counted(count, 'zone')
export const howToPlace = 'Drag a zone to its place, or focus it and use the arrow keys; with Shift in small steps.'
export const removePlanQuestion = (name: string) => `Remove the plan ${name}?`
export const removingPlanMeans = 'It goes with Apply all. Its zones stay.'

// Pending (pending-page.ts)

export const pendingNew = 'New'
export const changed = 'Changed'
export const removed = 'Removed'
export const characters = (text: string, length: number) => `${text}… (${length} characters)`
export const secret = 'a secret'
export const newSecret = 'a new secret'
export const nothingIsPending = 'Nothing is pending. Everything that was changed is in effect.'
export const n1ChangeWaits = '1 change waits.'
export const changesWait = (count: number) => `${count} changes wait.`
export const allChangesAreDiscarded = 'All changes are discarded.'
export const noChangesWait = 'No changes wait'
export const undoLast = (count: number) => `Undo the last Apply all (${counted(count, 'change')})`
export const undoWaits = 'What takes it back waits now: look at it, then apply it.'
export const whatWaitsHere =
  'An import into a running controller, and changes of roles, wait here until somebody applies them.'
export const discard = (count: number) => `Discard ${count === 1 ? 'this change' : `all ${count} changes`}?`
export const howToMendChanges =
  'Each row below says what is wrong: correct the site file, discard these changes, and import it again.'
export const n1ChangeIsApplied = '1 change is applied.'
export const changesAreApplied = (applied: number) => `${applied} changes are applied.`
export const askingWhatWaits = 'Asking what waits'
export const changesCouldNotBeRead = 'The changes could not be read'
export const after = 'After'
export const value = 'Value'
export const yes = 'yes'
export const no = 'no'

// Audit (audit-words.ts, audit-page.ts)

/** What a call does, if it was done and if it was not. */
interface Deed {
  done: string
  wanted: string
}
const deed = (done: string, wanted: string): Deed => ({ done, wanted })

export const refusedByDevice = (name: string, why: string, asked: string) => `${name} refused: ${why}. ${asked}.`
export const refusedBecause = (why: string) => `refused, ${why}`
export const noReasonGiven = 'it gave no reason'
export const somebody = 'Somebody'
export const somebodyAt = (address: string) => `Somebody at ${address}`
export const ranBy = (kind: string, name: string) => `The ${kind === 'hook' ? 'webhook' : kind} ${name}`
export const askedFor = (name: string, wish: string) => `asked ${name} for ${wish}`
export const setTo = (name: string, value: string) => `set ${name} to ${value}`
export const sentTo = (name: string, wish: string) => `sent ${wish} to ${name}`
/** A verb that needs no more words; undefined for others. */
export function plainDeed(verb: string, name: string): Deed | undefined {
  if (/^(on|off)$/.test(verb)) return deed(`switched ${verb} ${name}`, `asked ${name} to switch ${verb}`)
  if (!/^((un)?lock|(un)?mute|open|close)$/.test(verb)) return undefined
  return deed(`${verb}${verb.endsWith('e') ? 'd' : 'ed'} ${name}`, `asked ${name} to ${verb}`)
}
export const macroFailed = (name: string, why: string, asked: string) => `The macro ${name} failed: ${why}. ${asked}.`
export const runsMacro = (name: string) => deed(`ran the macro ${name}`, `asked for the macro ${name}`)
export const endsMacro = (name: string) => deed(`ended the macro ${name}`, `asked to end the macro ${name}`)
export const setsAttribute = (name: string) => deed(`set the attribute ${name}`, `asked to set the attribute ${name}`)
export const readsTable = (table: string) => deed(`read the table ${table}`, `asked for the table ${table}`)
export const looksAt = (page: string) => deed(`looked at ${page}`, `asked for ${page}`)
export const triedTo = (attempt: string) => `tried to ${attempt}`
export const callsPath = (call: string) => deed(`called ${call}`, `called ${call}`)
/**
 * Calls by method and path: what was done, and what was tried if that is said otherwise. Others are told by these. Only
 * literals are left out of bundles that need none of them.
 */
export const calls: Readonly<Record<string, readonly [done: string, attempt?: string]>> = {
  'POST /api/token': ['signed in over REST', 'sign in over REST'],
  'POST /ui/sign-in': ['signed in', 'sign in'],
  'POST /ui/sign-out': ['signed out'],
  'POST /ui/password': ['changed the own password', 'change the own password'],
  'POST /ui/command': ['sent a command'],
  'GET /ui/zone/still': ['began to look at a camera', 'look at a camera'],
  'POST /ui/ledger/acknowledge': ['acknowledged an entry of Today', 'acknowledge an entry of Today'],
  'POST /ui/rows': ['changed the site', 'change the site'],
  'PUT /ui/rest': ['set the REST switch'],
  'POST /ui/pending/apply': ['applied all pending changes', 'apply all pending changes'],
  'POST /ui/backup': ['made a backup', 'make a backup'],
  'GET /ui/backup/file': ['saved a backup', 'save a backup'],
  'POST /ui/backup/file': ['sent a backup to be checked', 'send a good backup'],
  'POST /ui/backup/restore': ['restored a backup', 'restore a backup'],
  'POST /ui/backup/undo': ['took a restore back', 'take a restore back'],
  'POST /ui/update/look': ['looked for an update', 'look for an update'],
  'POST /ui/update/apply': ['began an update of Plantroom', 'begin an update of Plantroom'],
  'POST /ui/restart': ['restarted the controller', 'restart the controller'],
}

export const malformedBodyMore = 'The body was not JSON, or was over 256 KB.'
export const nameOrPasswordMissing = 'name or password missing'
export const missingCredentialMore = 'The sign-in came without a user name or without a password.'
export const wrongNameOrPassword = 'wrong name or password'
export const invalidCredentialMore =
  'The name is unknown, the password wrong, or the account disabled, revoked or outside its dates.'
export const noSite = 'no site'
export const noSitesMore = 'The account belongs to no site. Add it to one.'
export const noRole = 'no role'
export const noRolesMore = 'The account has no role. Give it one.'
export const codeMailed = 'code mailed'
export const codeMailedMore = 'First step of a sign-in: a code was mailed and has not been entered yet.'
export const wrongCode = 'wrong code'
export const wrongCodeMore = 'The code was not the mailed one, or came too late.'
export const noMailAddress = 'no mail address'
export const noMailAddressMore = 'The account needs a mailed code and has no mail address.'
export const notSigned = 'not signed in'
export const invalidSessionMore = 'The session was missing, unknown or over, or its account may sign in no longer.'
export const fromOutside = 'from outside'
export const remoteDeniedMore = 'No role of the account has Allow Remote on, and the call came from outside.'
export const handoffRefused = 'handoff refused'
export const unauthorizedMore = 'There was no valid session or nonce for it.'
export const roleDeniedShort = 'role does not allow it'
export const roleDeniedMore = 'No rule of the roles allows this function, or one denies it.'
export const needsElevation = 'needs elevation'
export const elevationDeniedMore = 'The device, macro or page is for roles with Elevated on.'
export const outOfScope = 'out of scope'
export const scopeDeniedMore = 'The zone or device is on no UI that the roles allow.'
export const noSuchMacro = 'no such macro'
export const unknownMacroMore = 'There is no macro of that number or name.'
export const closedTable = 'closed table'
export const elevatedTableMore = 'The table is open only to roles with Elevated on.'
export const renamedColumn = 'renamed column'
export const invalidProjectionMore = 'Only roles with Elevated on may rename columns in _fields.'
export const filterOnSecret = 'filter on a secret'
export const redactedFilterMore = 'The query filters by a column that holds secrets.'
export const secureValuesLeftOut = 'secure values left out'
export const secureFilteredMore = 'The query asked for secure attributes, or searched by value.'
export const noSuchAction = 'no such action'
export const invalidActionMore = 'Only command and macro are known under /api/control.'
export const cannotBeWritten = 'cannot be written'
export const notImplementedMore = 'Tables are read over REST, and written by macros.'
export const restIsOff = 'REST is off'
export const restDisabledMore = 'The REST API is switched off under System.'
export const wrongMethod = 'wrong method'
export const methodNotAllowedMore = 'The path takes other methods than this one.'
export const targetUnclear = 'target unclear'
export const badTargetMore = 'The command named no target, two that disagree, or one that does not exist.'
export const noCommand = 'no command in it'
export const badCommandMore = 'The body named no command, two of them, or was no object.'
export const argsNotAllowed = 'args not allowed'
export const badArgsMore = 'The args do not fit the command, the macro, or the bounds of the zone.'
export const wrongFields = 'wrong fields'
export const badFieldsMore = 'A field was missing, not known, or of a wrong kind.'
export const noSuchTable = 'no such table'
export const unknownEntityMore = 'The query asked for a table that does not exist.'
export const unknownModifier = 'unknown modifier'
export const unknownModifierMore = 'The query used a name beginning with _ that is not known.'
export const unreadableQuery = 'unreadable query'
export const badQueryMore = 'The query could not be read, or named a column that does not exist.'
export const tooManyAtOnce = 'too many at once'
export const busyMore =
  'Too much of the same kind was pending, or came from there, so it was refused unread. Try again.'
export const tooOften = 'too often'
export const triggerLimitMore =
  'A trigger fired too often within a minute, or runs led to one another by triggers, which may be a loop.'
export const missedTime = 'missed'
export const missedMore = 'Its time passed while the controller was down, or the clock was set over it.'
export const pageOfAnotherSite = 'page of another site'
export const foreignOriginMore = 'A page of another site sent it. Find out who opened which page.'
export const pinRestsShort = 'PIN rests'
export const pinRestsMore =
  'Too many wrong PINs came for this account, so PINs are not looked at for a while. The password works.'
export const duressShort = 'duress PIN'
export const duressMore =
  'This person signed in by the PIN that means duress: somebody may be forcing them. They were let in as usual.'
export const mustChangeShort = 'password to be changed'
export const mustChangeMore = 'This person has to change the password before anything else is answered.'
export const auditFailed = (status: number) => `failed, ${status}`
export const answeredWith = (sentence: string | undefined, status: number, more: string) =>
  `${sentence}, answered with ${status}.${more}`
export const auditAnsweredWith = (status: number) => `Answered with ${status}.`
export const answeredWithNothingElseIsRecorded = (status: number) =>
  `Answered with ${status}; nothing else is recorded about it.`
export const done = 'done'
export const doneSentence = 'Done'
export const doneInPart = 'done in part'
export const partlySentence = 'Some steps failed, and the macro went on'
export const auditNotDone = 'not done'
export const failedSentence = 'Granted, and not done'
export const stillRan = 'still ran'
export const runningSentence = 'Still ran when it was answered'
export const anyTime = 'any time'
export const lastHour = 'last hour'
export const lastDay = 'last day'
export const lastWeek = 'last week'
export const outcome = 'Outcome'
export const refusedOrFailed = 'Refused, failed'
export const wasDone = 'Done'
export const all = 'All'
export const filterByUser = 'Filter by user'
export const user = 'Person'
export const filterByZone = 'Filter by zone'
export const zoneOf = 'Zone'
export const filterByDevice = 'Filter by device'
export const deviceOf = 'Device'
export const filterByReason = 'Filter by reason'
export const anyReason = 'any reason'
export const filterByTime = 'Filter by time'
export const from = 'From'
export const until = 'Until'
export const timeOfBuilding = (value: string) => `Time of the building, ${value}.`
export const timeOfBrowser = 'Time of this browser.'
export const allFit = ', all that match'
export const askingForRecord = 'Asking for the record'
export const newest100Calls = 'The newest 100 calls.'
export const untilLiesBefore = 'Until lies before From'
export const noCallCanMatch = 'No call can match. Pick a later Until, or an earlier From.'
export const noneOfNewestMatches = 'None of the newest calls matches'
export const olderWereNotSearched = 'Older ones were not searched yet: one search covers a limited number.'
export const noCallFitsChoice = 'No call matches this choice'
export const noCallMatchesAll = 'No recorded call has this outcome, person, zone, device, reason and time.'
export const noCallWasRefused = 'Nothing was refused, and nothing failed'
export const grantedAreUnderAll = 'What was done is listed under All.'
export const nothingWasAskedYet = 'Nothing was asked yet'
export const everyCallOfRestApi = 'Every call of the REST API and of these pages appears here.'
export const auditAt = 'At'
export const auditBy = 'By'
export const auditCall = 'Call'
export const page = 'a page'
export const restApi = 'the REST API'
export const socket = 'the socket'
export const ofWebhook = 'a webhook'
export const ofSchedule = 'a schedule'
export const ofTrigger = 'a trigger'
export const theBuilding = 'The building'
export const action = 'Action'
export const target = 'Target'
export const status = 'Status'
export const took = 'Took'
export const reason = 'Reason'
export const macroRun = 'Macro run'
export const malformedBodyShort = 'unreadable'
export const isGranted = 'granted'
export const grantedLit = 'Granted'
export const grantedSeeOutcome = 'Granted, see the outcome'
export const refusedLit = 'Refused'

// Schedule (schedule-page.ts)

export const nextRun = (name: string, when: string) => `Next: ${name}, ${when}.`
export const doNothing = (count: number) =>
  `${many(count, 'schedule or trigger', 'schedules and triggers')} ${count === 1 ? 'does' : 'do'} nothing.`
export const onlyTriggers = 'Triggers are watched; no schedule is due.'
export const nothingByItself = 'The building does nothing by itself.'
export const nothingByItselfWhy = 'Rows of schedule and trigger in a site file change that.'
export const askingForSchedules = 'Asking what runs next'
export const schedules = 'Schedules'
export const triggers = 'Triggers'
export const noSchedules = 'No schedules. A site file brings them.'
export const noTriggers = 'No triggers. A site file brings them.'
export const doesNothing = 'does nothing: see why'
export const isWatched = 'in force'

// System (system-page.ts)

export const systemRuns = 'Runs'
export const nothing = 'Nothing'
export const askingWhatIsSet = 'Asking what is set'
export const switchCouldNotBeRead = 'The switch could not be read'
export const isOff = 'is off'
export const itRuns = 'runs'

// Tables of the site (tables-page.ts, table-form.ts)

export const siteTables = 'Site'
/** Names of tables; others are told by their own name. */
export const tableNames: Readonly<Record<string, string>> = {
  site: 'Site',
  subsystem: 'Subsystems',
  zone_group: 'Rooms and groups',
  device: 'Devices',
  zone: 'Zones',
  attribute: 'Attributes',
  command: 'Commands',
  av_source: 'Sources',
  av_zone: 'AV zones',
  channel_provider: 'Channel providers',
  channel: 'Channels',
  auth_role: 'Roles',
  auth_user: 'People',
  macro: 'Macros',
  macro_step: 'Macro steps',
  schedule: 'Schedules',
  trigger: 'Triggers',
  ui_theme: 'UI themes',
  ui: 'UIs',
  ui_page_ui: 'UI pages',
  ui_widget: 'UI widgets',
  ui_page_widget: 'Widgets on pages',
  ui_control: 'UI controls',
  ui_macro: 'Macros of a UI',
  ui_zone: 'Zones of a UI',
  ui_zone_group_ui: 'Rooms of a UI',
  credential: 'Credentials',
  web_service: 'Web services',
  license: 'Licences',
  setting: 'Settings',
}
/** Labels of columns whose names are not plain words. */
export const fieldLabels: Readonly<Record<string, string>> = {
  ip_address: 'IP address',
  mac: 'MAC address',
  poll_ms: 'Polled every (ms)',
  api_key: 'API key',
  zone_group_id: 'Room or group',
  channel_no: 'Channel',
  min: 'Least',
  max: 'Most',
  two_factor_auth: 'Mailed code at sign-in',
  must_change_password: 'Must change the password',
  allow_remote: 'May sign in from outside',
  skip_2fa_local: 'No mailed code inside the building',
  session_timeout_min: 'Session ends after (min)',
  timeout_ms: 'Time limit (ms)',
  max_runs: 'Runs at once, at most',
  offset_min: 'Offset (min)',
  pin: 'PIN',
  duress_pin: 'Duress PIN',
  rfid: 'RFID',
  rules: 'Rules, one a line',
}
export const showZones = 'Show the zones'
export const tableIsNotHere = (name: string) => `There is no table ${name} here.`
export const askingForTables = 'Asking what the site is made of'
export const tablesCouldNotBeRead = 'The tables could not be read.'
export const newRowKey = 'new row'
export const nextRowKey = 'next row'
export const rowBeforeKey = 'row before'
export const showAndApply = 'Show and apply'
export const filterRows = 'Filter rows'
export const newRow = 'New'
export const showMoreRows = 'Show more rows'
export const table = 'Table'
export const rowsCouldNotBeRead = 'The rows could not be read.'
export const noRows = (name: string) => `${name}: there are none yet.`
export const addTheFirstRow = 'Add the first one with New.'
export const escShowsAll = 'Esc in the filter shows all.'
export const noRowMatches = (filter: string) => `No row matches ${filter}.`
export const newWaits = 'new, waits for Apply all'
export const changeWaits = 'its change waits for Apply all'
export const goesWithApplyAll = 'goes with Apply all'
export const row = 'Row'
export const askingForRow = 'Asking for this row'
export const rowIsGone = 'This row is gone.'
export const somebodyRemovedRow = 'Somebody has removed it, or its change was discarded.'
export const newIn = (name: string) => `New: ${name}`
export const keptForApplyAll = 'Kept. It takes effect with Apply all.'
export const keepChange = 'Keep change'
export const removalIsKept = 'It goes with Apply all. Until then it can be discarded under Pending.'
export const removeRowQuestion = (name: string) => `Remove ${name}?`
export const removingRowMeans =
  'It stays until Apply all, and what refers to it has to go or to change with it. Discard the change under Pending to keep it.'
export const notJson = (reason: string) => `This is not JSON: ${reason}.`
export const none = 'None'
export const timeHint = 'Such as 2031-03-09T14:02:00Z; empty for none.'
export const jsonHint = 'JSON; null in place of a secret keeps it.'
export const between = (least: number, most: number) => `${least} to ${most}.`
export const atLeast = (least: number) => `${least} or more.`
export const mustBeGiven = 'Must be given.'
export const isForgotten = 'It will be removed.'
export const secretIsSet = 'Set. Type a new one to replace it.'
export const secretIsNotSet = 'Not set.'
export const forgetSecret = (name: string) => `Remove ${name.toLowerCase()}`
export const nameOrId = 'By name, or by id where a name stands twice.'
export const noneToChoose = 'There are none to choose yet.'

// Backups (backup-panel.ts)

export const askingForBackup = 'Asking for the state of backups'
export const backupCouldNotBeRead = 'The state of backups could not be read'
export const backupStates: Readonly<Record<string, string>> = {
  making: 'Is made',
  taking: 'Is sent',
  checking: 'Is checked',
  restarting: 'Restarts',
}
export const whatIsInBackup =
  'One file with all that this controller knows, from zones to the audit. Hashes of passwords are in it: keep it like a key. Passwords and keys of devices and services are left out;'
export const whatElseHasThem = 'on the machine itself writes these too.'
export const makingBackup = 'Making the backup'
export const backupIsReady = (size: string, time: string) => `The backup of ${time} is ready, ${size}.`
export const backupIsSaved = 'The backup is being saved by the browser.'
export const howToRestore = 'Pick a backup. It is checked first, and nothing is changed before you confirm it.'
export const sendingBackup = 'Sending the backup'
export const checkingBackup = 'Checking all of it'
export const somebodySendsBackup = 'A backup is being sent from another page.'
export const backupIsTooLarge = (size: string, most: string) =>
  `It has ${size}, and at most ${most} are taken (backup.bytes of controller.toml). Nothing was changed`
export const backupWasStopped = 'Sending was stopped. Nothing was changed'
export const backupWasCut = 'The connection was cut while it was sent. Nothing was changed'
export const backupIsGood = (site: string) => `The backup of ${site} is whole and can be restored.`
export const backupMade = 'Made'
export const backupVersion = 'By version'
export const backupSize = 'Size'
export const backupHolds = 'Holds'
export const backupSecrets = 'Passwords of devices and services'
export const secretsOfBackup = 'are in it'
export const secretsThatAreHere = 'are not in it; those that are set here now stay with the same devices and services'
export const restoreQuestion = (name: string) => `Restore a backup over ${name}?`
export const whatRestoreMeans = (made: string) =>
  `Everything here becomes what it was when the backup was made, ${made}: zones, people and passwords, macros, history, audit. The controller restarts, about 10 s, and everybody signs in again, with the passwords of then. What is here now is kept and can be put back.`
export const restoreAct = 'Restore the backup'
export const undoQuestion = (name: string) => `Take the restore of ${name} back?`
export const whatUndoMeans = (at: string) =>
  `Everything becomes what it was before ${at}. What has happened since is kept, and can be put back in the same way. The controller restarts, about 10 s, and everybody signs in again.`
export const putBack = 'Put it back'
export const keepAsItIs = 'Keep what is here'
export const restartsWithIt = 'The controller restarts with it'
export const signInAfterwards = 'This page comes back by itself. Sign in with a name and password of then.'
export const backupWasRestored = (by: string, made: string) => `${by} restored the backup of ${made}.`
export const restoreWasUndone = (by: string) => `${by} took a restore back.`
export const formerIsKept = 'What was there before is kept until the next restore.'

// Updates (update-panel.ts)

export const askingForUpdates = 'Asking for the state of updates'
export const updatesCouldNotBeRead = 'The state of updates could not be read'
export const updateStates: Readonly<Record<string, string>> = { looking: 'Looking', applying: 'Updating' }
export const versionRuns = (version: string) => `Plantroom ${version} runs`
export const isCurrent = (version: string) => `Plantroom ${version} runs, and nothing newer is offered`
export const newerIsThere = (newest: string, version: string) => `Plantroom ${newest} is there, and ${version} runs`
export const newestIsBad = (newest: string) => `Plantroom ${newest} was taken back`
export const notTriedAgain = 'This version is not tried again; the next one is.'
export const nobodyLooked = 'No update was looked for yet.'
export const lookedAt = (when: string) => `Looked: ${when}.`
export const appliedBetween = (from: string, until: string) => `It is applied by itself between ${from} and ${until}.`
export const appliedByHand = 'It is applied when somebody asks for it.'
export const couldNotLook = (version: string) => `Plantroom ${version} runs, and no update could be looked for`
export const couldNotUpdate = (version: string) => `Plantroom ${version} runs, as the update failed`
export const wasCutOff =
  'The last update was cut off. It is ended when this machine starts next, or with the next update.'
export const isBeingUpdated = 'Plantroom is being updated'
export const whatHappensMeanwhile =
  'The building goes on. At the end the daemons restart, and you sign in again; what runs now comes back if the new version is not well.'
export const whatUpdateSays = 'What the update says'
export const whatLastUpdateSaid = 'What the last update said'
export const lastUpdate = (when: string) => `Last update, ${when}:`
export const lookAct = 'Look now'
export const applyAct = (version: string) => `Update to ${version}`
export const applyQuestion = (version: string) => `Update Plantroom to ${version}?`
export const whatApplyMeans = (version: string) =>
  `The states of all daemons on this machine are backed up, the update is downloaded and proven, macros that run come to their end, and the daemons restart, about 10 s. Everybody signs in again. If one of them is not well within a minute, ${version} runs again.`
export const keepVersion = (version: string) => `Stay with ${version}`
export const restartAct = 'Restart the controller'
export const restartControllerQuestion = 'Restart the controller?'
export const whatRestartMeans =
  'Macros that run are ended, zones cannot be commanded for about 10 s, and everybody signs in again.'
export const letItRun = 'Let it run'
export const controllerRestarts = 'The controller restarts. Sign in when it is back.'

// Found on the network (found-panel.ts)

export const newOnes = (figure: string) => `${figure} new`
export const lookingAround = 'Asking what was found'
export const networkCouldNotBeLookedAt = 'What was found could not be read'
export const notLooking = 'Not looked for'
export const howToLook = 'mdns.enabled of controller.toml is false.'
export const nobodyIsFound = 'No board, gateway or recorder found'
export const whyNobodyIsFound =
  'They announce themselves by mDNS. Check that they run, and that UDP port 5353 passes between this network and theirs.'
export const roleNames: Readonly<Record<string, string>> = {
  gateway: 'Gateway',
  recorder: 'Recorder',
  encoder: 'Encoder',
  decoder: 'Decoder',
  serial: 'Serial server',
  usbip: 'USB server',
}
export const isDevice = (device: string) => `device ${device}`
export const adopt = (daemon: string) => `Adopt ${daemon}`
export const adoptShort = 'Adopt'
export const follow = (daemon: string) => `Take address of ${daemon}`
export const takeAddress = 'Take address'
export const leaveIt = 'Leave it'
export const deviceNameHint = 'Of the device in this building.'
/** What is asked for beside the name, by the driver. */
export const secrets = {
  board: { label: 'Password of the board', hint: 'Empty where it has none.' },
  gateway: {
    label: 'Key of the gateway',
    hint: 'Made at the gateway, under Users: an API key with the role administrator.',
  },
  recorder: {
    label: 'Token of the recorder',
    hint: 'Made at the recorder, under Accounts, for an operator that sees the cameras.',
  },
} as const
export const camerasBecomeZones =
  'Its cameras become zones: each of the type camera, with this device and the id of the camera as its address.'
export const compareRoot = 'Compare root'
export const compareRootOf = (daemon: string) => `Compare root of ${daemon}`
export const adoptRoot = 'Adopt this root'
export const askingForRoot = (driver: string) => `Fetching the root CA of the ${driver}`
export const rootCouldNotBeRead = 'The root CA could not be read'
export const fingerprintOfRoot = 'SHA-256 of the root CA'
export const compareFingerprint = (driver: string) => `Compare this fingerprint with that of the ${driver}`
const fingerprintStands = (driver: string) =>
  driver === 'recorder'
    ? 'Its log shows it at each start: journalctl -u plantroom-recorder, root certificate.'
    : 'Its page System shows it under Certificate, and its log at each start.'
export const compareFingerprintHow = (driver: string) =>
  `${fingerprintStands(driver)} If they differ, somebody may be in between: leave it. Once adopted, the ${driver} is driven over HTTPS only, and only while its certificate is from this root.`
export const sameRoot = 'This root is the adopted one'
export const sameRootMeans = 'There is nothing to do.'
export const otherRoot = 'This root is not the adopted one'
export const otherRootMeans = (adopted: string, driver: string) =>
  `The fingerprint of the adopted one is ${adopted}. If the ${driver} was set up anew, compare the new one. ${fingerprintStands(driver)} Then adopt it. Otherwise somebody may be in between: leave it.`
export const isAtAnotherAddress = (device: string, place: string) =>
  `${device} has another address. It announces itself at ${place} now.`
export const waitsForApplyAll = (device: string) => `${device} waits for Apply All.`

// Devices (devices-page.ts)

export const devices = 'Devices'
export const noDeviceIsDriven = 'No device is driven yet.'
export const addADevice = 'Add one with New device, or adopt one that is found on the network under System.'
export const devicesAreAway = (away: number, all: number) =>
  `${away} of ${counted(all, 'device')} ${away === 1 ? 'is' : 'are'} away.`
export const devicesNotHeard = (silent: number, all: number) =>
  `${silent} of ${counted(all, 'device')} ${silent === 1 ? 'was' : 'were'} not heard yet.`
export const allDevicesAreThere = (all: number) =>
  all === 1 ? 'The device is there.' : `All ${all} devices are there.`
export const neverHeard = 'never heard'
export const lastHeard = (since: string) => `last heard ${since}`
export const askingForDevices = 'Asking how the devices are'
export const devicesCouldNotBeRead = 'The devices could not be read.'
export const filterDevices = 'Filter devices'
export const newDevice = 'New device'
export const moreDevices = (count: number) => `And ${count} more: filter by name, driver or error.`
export const noDevices = 'There are no devices yet.'
export const isThere = 'There'
export const isAway = 'Away'
export const notHeardYet = 'Not heard yet'
export const isSwitchedOff = 'Switched off'

// Macros: what they do, in words (macro-words.ts, macro-steps.ts)

export const stepTypes: Readonly<Record<string, string>> = {
  command: 'Command',
  delay: 'Pause',
  wait: 'Wait until',
  condition: 'Only if',
  set: 'Set attribute',
  macro: 'Run a macro',
  notify: 'Notify',
  parallel: 'At the same time',
  stop: 'Stop',
}
export const ops: Readonly<Record<string, string>> = {
  eq: 'is',
  ne: 'is not',
  lt: 'is below',
  lte: 'is at most',
  gt: 'is above',
  gte: 'is at least',
  in: 'is one of',
  contains: 'contains',
}
export const noTarget = 'no target yet'
export const orderTo = (target: string, order: string) => `${target}: ${order}`
export const moreSettings = 'More settings'
export const pauseOf = (ms: string, spread: string) =>
  spread === '' ? `pause ${ms}` : `pause ${ms}, and up to ${spread} more by chance`
export const waitUntil = (test: string, ms: string) => `wait until ${test}, ${ms} at most`
export const onlyIf = (test: string, otherwise: string) => `only if ${test}; ${otherwise}`
export const elseEnd = 'else end here'
export const elseSkip = (count: string) =>
  `else leave out ${count === '1' ? 'the next step' : `the next ${count} steps`}`
export const attributeSetTo = (name: string, value: string) => `set ${name} to ${value}`
export const runMacroNamed = (name: string) => `run ${name}`
export const macroNumber = (id: number) => `macro ${id}`
export const theJournal = 'the journal'
export const tell = (who: string, text: string) => `tell ${who}: ${text}`
export const branches = (count: number) => `${counted(count, 'branch', 'branches')} at the same time`
export const pauseBeforeRetry = (ms: string) => `pause ${ms} before another try`
export const stopBecause = (reason: string, isFailure: boolean) =>
  `end here${isFailure ? ' as failed' : ''}${reason === '' ? '' : `: ${reason}`}`
export const secretTookPart = 'A secret took part in it, and is not shown.'
export const stillUnderWay = 'Under way.'
export const cutShort = (took: string) => (took === '' ? 'Cut short.' : `Cut short after ${took}.`)
export const failedAfter = (took: string, why: string) => `Failed after ${took}: ${why}`
export const doneAfter = (took: string) => `Done after ${took}.`
export const itHolds = 'It held.'
export const itDoesNotHold = 'It did not hold.'
export const answered = (answer: string) => `Answered ${answer}.`
export const runResults: Readonly<Record<string, string>> = {
  done: 'done',
  running: 'runs now',
  failed: 'failed',
  cancelled: 'cancelled',
  timed_out: 'out of time',
  interrupted: 'cut off by a restart',
}
export const calledByMacro = 'called by a macro'
export const begunBy = (who: string) => `by ${who}`
export const macrosCannotRun = (count: number) =>
  count === 1 ? '1 macro cannot run as it is.' : `${count} macros cannot run as they are.`
export const macrosFailed = (count: number) =>
  count === 1 ? '1 macro failed the last time it ran.' : `${count} macros failed the last time they ran.`
export const noMacrosYet = 'There are no macros yet.'
export const addAMacro = 'Add the first one with New macro.'
export const macrosCanRun = (count: number) =>
  count === 1 ? 'The macro can run.' : `${whole(count, 'macros')} can run.`
export const noMacroHasRun = 'None has run yet.'
export const noMacroFailed = 'None failed the last time it ran.'
export const noMacroIsOn = 'No macro is switched on.'
export const failedAt = (name: string, at: string, why: string) => `${name}, ${at}: ${why}`

// Macros: the list and the runs (macros-page.ts, macro-runs.ts)

export const macros = 'Macros'
export const newMacro = 'New macro'
export const newMacroKey = 'new macro'
export const filterMacros = 'Filter macros'
export const askingForMacros = 'Asking for the macros'
export const macrosCouldNotBeRead = 'The macros could not be read'
export const neverRan = 'never ran'
export const stepsOfMacro = (count: number) => counted(count, 'step')
export const cannotRun = 'cannot run'
export const canRun = 'can run'
export const runsOf = (name: string) => `Runs of ${name}`
export const allRuns = 'Runs'
export const steps = 'Steps'
export const noRunsYet = 'It has not run yet'
export const noRunsYetWhy = 'Each run is listed here with what its steps did.'
export const askingForRuns = 'Asking for the runs'
export const runsCouldNotBeRead = 'The runs could not be read'
export const olderRuns = 'Older runs'
export const askingForRun = 'Asking for this run'
export const runIsNotKept = 'This run is not kept'
export const runIsNotKeptWhy = 'The newest runs are kept in memory; older ones are on the disk alone.'
export const noTrace = 'No trace is kept of it'
export const noTraceWhy = 'It was cut off before its trace was written.'
export const tookNoStep = 'It took no step'
export const tookNoStepWhy = 'It has no steps, or ended before the first.'
export const runTook = (word: string, took: string) => `It ended as ${word} after ${took}.`
export const runIsDone = (took: string) => `It is done, after ${took}.`
export const runGoesOn = 'It goes on.'
export const runWasCut = 'It was cut off by a restart of the controller, and is not taken up again.'
export const calledWith = (args: string) => `Called with ${args}.`
export const moreSteps = (count: number) => `And ${counted(count, 'step')} more.`
export const endRun = 'End this run'
export const runEnds = 'It is ended.'
export const replayIt = 'Compare with this version'
export const replaySame = 'This version decides every step as it was decided then.'
export const replayDiffers = (step: string | null) =>
  step === null ? 'This version ends it in another way.' : `This version decides step ${step} in another way.`
export const openCalled = (id: number) => `run ${id}`

// Macros: the editor (macro-form.ts, step-form.ts)

export const askingForMacro = 'Asking for this macro'
export const macroIsGone = 'This macro is gone'
export const macroIsGoneWhy = 'Somebody has removed it, or it goes with Apply all.'
export const showMacros = 'Show the macros'
export const macroWaits = 'What is edited here waits for Apply all.'
export const macroWaitsWhy = 'What runs until then is the macro as it was.'
export const macroInForce = 'In force as it is shown.'
export const macroIsNew = 'A new macro. It can be tried out before it is kept.'
export const macroNameHint = 'Schedules, triggers and other systems call it by this name.'
export const description = 'Description'
export const modeLabel = 'Started again while it runs'
export const modes: Readonly<Record<string, string>> = {
  single: 'is refused',
  restart: 'ends the first',
  queued: 'waits its turn',
  parallel: 'runs beside it',
}
export const maxRuns = 'Runs at once, at most'
export const emptyForUsual = 'Empty for the usual.'
export const timeLimit = 'Time limit'
export const enabled = 'Enabled'
export const elevatedMacro = 'Elevated roles only'
export const elevatedMacroHint = 'Its steps then reach elevated devices for whoever runs it.'
export const argsSchema = 'What it is called with (JSON schema)'
export const argsSchemaHint = 'Such as {"properties": {"level": {"type": "number"}}}; empty takes anything.'
export const macroSettings = 'Settings'
export const noSteps = 'No steps yet.'
export const noStepsInBranch = 'This branch has no steps yet.'
export const addStep = 'Add step'
export const addStepKey = 'add a step'
export const stepToAdd = 'Kind of step'
export const kindOfStep = 'Kind'
export const branchNumber = (at: number) => `Branch ${at}`
export const addBranch = 'Add branch'
export const removeBranch = (at: number) => `Remove branch ${at}`
export const moveUp = (place: string) => `Move step ${place} up`
export const moveDown = (place: string) => `Move step ${place} down`
export const removeStep = (place: string) => `Remove step ${place}`
export const stepRemoved = (place: string) => `Step ${place} is removed.`
export const targetKind = 'Target'
export const targetZone = 'Zone'
export const targetDevice = 'Device'
export const targetNone = 'None: the controller’s own'
// biome-ignore lint/suspicious/noTemplateCurlyInString: references of macros are written like that
export const placeHint = 'By name. An arg of the caller stands as ${args.zone}.'
export const verb = 'Command'
export const verbHint = (names: string) => `Known here: ${names}.`
export const verbUnknown = 'No commands are known here; it is sent as it stands.'
export const argName = 'Argument'
export const argValue = 'Value'
export const addArg = 'Add argument'
export const removeArg = (name: string) => `Remove argument ${name}`
export const valueHint = 'A number, true, false, JSON or a text. "12" in quotes is a text.'
export const pauseMs = 'How long'
export const spreadMs = 'And up to, by chance'
export const readsWhat = 'Compare'
export const readsAttribute = 'an attribute'
export const readsField = 'what it does now'
export const attributeName = 'Attribute'
export const fieldName = 'Value, such as level or state'
export const comparison = 'Comparison'
export const comparedWith = 'With'
export const waitsAtMost = 'Wait at most'
export const otherwise = 'Else leave out so many steps'
export const otherwiseHint = 'Empty: else the macro ends here, as done.'
export const macroToRun = 'Macro'
export const noticeText = 'Text'
export const noticeTo = 'Mail it to'
export const noticeToHint = 'User names between commas; empty: into the journal alone.'
export const subject = 'Subject'
export const stopReason = 'Reason'
export const stopFailed = 'Counts as failed'
export const onError = 'If it fails'
export const onErrors: Readonly<Record<string, string>> = {
  stop: 'end the macro',
  continue: 'go on',
  retry: 'try again',
}
export const tries = 'Further tries'
export const asJson = 'Edit as JSON'
export const asFields = 'Edit in fields'
export const staysJson = 'No fields can hold this, so it stays JSON.'
export const argsAsJson = 'Args of this step'
export const keepMacro = 'Keep change'
export const macroKept = 'Kept. It takes effect with Apply all.'
export const removeMacroQuestion = (name: string) => `Remove ${name}?`
export const removeMacroMeans =
  'It stays until Apply all, with its steps. Schedules, triggers and macros that call it have to go or to change with it.'
export const dryRun = 'Dry run'
export const dryRunMeans =
  'Shows what it would do as it is edited here, with what the building does now. Sends nothing.'
export const dryRunKey = 'dry run'
export const waitsAre = 'Waits that do not hold at once'
export const waitsMet = 'come to hold'
export const waitsExpired = 'run out of time'
export const wouldSend = (count: number) =>
  count === 0 ? 'It would send nothing.' : `It would send ${counted(count, 'order')}.`
export const wouldEnd = (word: string, after: string) => `It would end as ${word} after ${after}.`
export const sentAfter = (at: string) => `after ${at}`
export const tried = 'Each step'
export const runNow = 'Run now'
export const runNowHint = 'Runs what is applied, in the building.'
export const runNowQuestion = (name: string) => `Run ${name} now?`
export const runNowMeans = 'It commands the devices of the building, as it is applied.'
export const notYet = 'Not yet'
export const runBegan = 'It runs.'
export const mendStepsFirst = 'A step or a setting above is not right yet; it says so there.'

// One device and its traffic (device-panel.ts)

export const editDevice = 'Edit'
export const closeDevice = 'Close device'
export const traffic = 'Traffic'
export const pauseKey = 'pause, go on'
export const bytesKey = 'bytes or text'
export const filterTraffic = 'Filter messages'
export const bytes = 'Bytes'
export const pause = 'Pause'
export const goOn = 'Go on'
export const laneOf = (done: string, failed: string, late: string, queued: string) =>
  `${done} done, ${failed} refused, ${late} too late, ${queued} wait.`
export const messagesLeftOut = (many: number) =>
  `${counted(many, 'message')} came too fast and ${many === 1 ? 'is' : 'are'} not shown.`
export const nothingCame = 'Nothing to or from it yet'
export const nothingCameWhy =
  'What goes to it and comes from it is shown from now on. A simulated device has no traffic; one that is only told says nothing.'
export const messagesNewestLast = 'Messages, newest last'
export const wayOut = 'to the device'
export const wayIn = 'from the device'
export const wayNote = 'the controller'
export const signInNotShown = (size: string) => `sign-in, ${size}, not shown`
export const cutAfter = (size: string) => `… ${size} in all`

// Device definitions (definitions-page.ts, definition-editor.ts, definition-console.ts)

export const definitions = 'Definitions'
export const newDefinition = 'New definition'
export const filterDefinitions = 'Filter definitions'
export const askingForDefinitions = 'Asking for the definitions'
export const definitionsCouldNotBeRead = 'The definitions could not be read'
export const definitionsBroken = (many: number) =>
  many === 1
    ? '1 definition does not hold, and drives no device.'
    : `${many} definitions do not hold, and drive no device.`
export const definitionsHold = (many: number) => `${whole(many, 'definitions')} hold, with their wire tests.`
export const noDeviceUsesIt = 'no device uses it'
export const holds = 'holds'
export const doesNotHold = 'does not hold'
export const ofYours = 'yours'
export const ofPackage = 'package'
export const ofPackageMeans = 'Of the package. What you keep goes before it, on this machine.'
export const definitionIsGone = 'There is no definition of this name'
export const showDefinitions = 'Show the definitions'
export const schema = 'Schema'
export const checking = 'It is being checked.'
export const thingsAreWrong = (many: number) =>
  many === 1 ? 'One thing is wrong with it.' : `${many} things are wrong with it.`
export const pressToGoThere = 'Press one to go to its line.'
export const wireTestsHold = (many: number) => (many === 1 ? 'Its wire test holds.' : `Its ${many} wire tests hold.`)
export const whatIsWrong = 'What is wrong'
export const lineOf = (line: number) => `Line ${line}`
export const definitionAsText = 'Definition, as JSON'
export const keepDefinition = 'Keep and use'
export const definitionKept = (devices: string) => `Kept. It drives ${devices} from now on.`
export const definitionRemoved = 'It is removed. One of the package of the same name is in use again.'
export const removingDefinitionMeans =
  'Devices that use it go by the definition of the package of the same name, or are not driven where there is none.'
export const console = 'Console'
export const howToUseDefinition = 'A device uses it whose command set has this name. Add one under Site, Devices.'
export const consoleOfKept = 'Goes by the definition that is kept, not by what is typed here.'
export const consoleMeans = 'Sends to the device, and shows what goes out and comes back.'
export const sendCommand = 'Send'
export const commandDone = 'Done.'
export const newDefinitionText = `{
  "format": 1,
  "name": "my-device",
  "version": "1.0.0",
  "title": "My device",
  "makers": ["Maker"],
  "sources": [{ "document": "Manual, revision 1" }],
  "transports": [{ "kind": "tcp", "port": 5000 }],
  "framing": { "mode": "delimiter", "delimiter": "\\r" },
  "commands": {
    "on": { "send": "ON\\r" }
  },
  "tests": [
    { "command": "on", "sends": "ON\\r" }
  ]
}
`
