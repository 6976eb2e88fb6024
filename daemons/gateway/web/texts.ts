/**
 * All sentences of the gateway's pages: labels, hints, questions, verdicts, toasts, empty states. They are sorted by
 * the file that uses them; a text used by several files is at the first of them. Text within the markup of a template
 * stays there.
 */
import { counted } from '#kit/pure/text.ts'
import { capital, many, whole } from '#kit/web/numbers.ts'

// On every page (app.ts)

export const onlyAdministratorsSeeJournal = 'Only administrators see the journal'
export const journalNamesPeople = 'It names people and their addresses.'
export const webhooks = 'Webhooks'
export const users = 'Users'
export const today = 'Today'
export const journal = 'Journal'
export const system = 'System'
export const version = (version: string) => `Version ${version}`
export const askingGateway = 'Asking the gateway who it is'
export const ports = 'Ports'

// Lines, protocols and functions (words.ts)

export const raw = 'Raw'
export const modbusRtu = 'Modbus RTU'
export const mbus = 'M-Bus'
export const bacnetMstp = 'BACnet MS/TP'
export const dnp3 = 'DNP3 outstation'
export const equipment = 'Equipment'
export const notSetUp = 'not set up'
export const opening = 'opening'
export const absentSince = (since: string) => `absent since ${since}`
export const willNotOpen = 'will not open'
export const closed = 'closed'
export const open = 'open'
export const alone = 'nobody else there'
export const withFault = 'with a fault'
export const readCoils = 'Read coils'
export const readCoil = 'Read coil'
export const readDiscreteInputs = 'Read discrete inputs'
export const readDiscrete = 'Read discrete'
export const readHolding = 'Read holding'
export const readInput = 'Read input'
export const writeCoil = 'Write coil'
export const writeHolding = 'Write holding'
export const writeCoils = 'Write coils'
export const writeHoldings = 'Write holdings'
export const maskWriteHolding = 'Mask write holding'
export const maskHolding = 'Mask holding'
export const writeAndReadHoldings = 'Write and read holdings'
export const writeAndRead = 'Write and read'
export const functionNumber = (fc: number) => `Function ${fc}`
export const noLineRuns = 'no line runs'
export const openOfLines = (open: number, wanted: number) => `${open} of ${wanted} lines`
export const noSerialLineWasFound = 'No serial line was found on this machine.'
export const linesFoundNoneIsSetUp = (ports: number) => `${many(ports, 'line')} found, none is set up.`
export const setOneUpToSee = 'Set one up to see what is on it.'
export const linesAreClosed = (configured: number) => `${configured === 1 ? 'The line is' : 'All lines are'} closed.`
export const someLinesRun = (open: number, wanted: number) =>
  `${open} of ${many(wanted, 'line')} ${open === 1 ? 'runs' : 'run'}.`
export const moreNeedALook = (others: number) =>
  others === 1 ? ' One more line needs a look.' : ` ${others} more lines need a look.`
export const needALook = (lines: number) => (lines === 1 ? '1 needs a look' : `${lines} need a look`)
export const runs = (name: string) => `${name} runs.`
export const allLinesRun = (open: number) => `${whole(open, 'lines')} run.`
export const someNotSetUp = (spare: string) => `${spare} not set up`
export const lineWillNotOpen = (name: string) => `${name} will not open.`
export const isAbsentSince = (name: string, since: string) => `${name} is absent since ${since}.`
export const unitsAreNoisy = (name: string, noisy: number) => `${name}: ${many(noisy, 'unit is', 'units are')} noisy.`
export const unitsAreSilent = (name: string, silent: number, noisy: number) =>
  `${name}: ${many(silent, 'unit is', 'units are')} silent${noisy > 0 ? `, ${noisy} noisy` : ''}.`
export const hasFault = (name: string) => `${name} needs a look.`
export const isBeingOpened = (name: string) => `${name} is being opened.`
export const triedAgain = (age: string) => `Tried again in ${age}.`
export const someSilent = (number: number) => `${number} silent`
export const someNoisy = (number: number) => `${number} noisy`
export const someClosed = (number: string) => `${number} closed`

// First run (first-run.ts)

export const password = 'Password'
export const name = 'Name'
export const lines = 'Lines'
export const done = 'Done'
export const goOn = 'Go on'
export const setUpGateway = 'Set up gateway'
export const openLine = (name: string) => `Open ${name}`
export const toPorts = 'To the ports'
export const userName = 'User name'
export const atLeast8Characters = 'At least 8 characters.'
export const nameHint = 'Shown on every page, so that nobody works on the wrong device. Example: Plant room B2.'
export const lookingForLines = 'Looking for lines'
export const usuallyBrief = 'This usually takes less than a second.'
export const linesCouldNotBeListed = 'The lines could not be listed'
export const setThemUpLater = (lines: string) => `${lines} They can be set up on their own pages.`
export const noSerialLineFound = 'No serial line found'
export const plugOneIn = 'Plug one in at any time. It appears under Ports, where you set it up.'
export const protocolOf = (name: string) => `Protocol of ${name}`
export const setUpAndBeingOpened = 'set up and being opened'

// All ports (ports-page.ts)

export const nextLine = 'next line'
export const lineBefore = 'line before'
export const opensLine = 'opens the line'
export const setsUpLine = 'sets up the line'
export const askingGatewayForLines = 'Asking the gateway for its lines'
export const devicePath = 'Device path'
export const pathHint = 'The gateway says whether it may be used.'
export const plugAnAdapterIn =
  'Plug a USB serial adapter in and it appears here within seconds. Built-in ports appear when the system lists them under /dev.'
export const noSerialLine = 'No serial line'

// Head and switches of a port (port-head.ts)

export const askingGatewayForLine = 'Asking the gateway for this line'
export const noSuchLineText = (path: string) =>
  `Neither found nor set up: ${path}. It may have been removed, or unplugged before it was set up.`
export const gatewayHasNoSuchLine = 'This gateway has no such line'
export const closingMeans =
  'Nothing is read from it and nothing sent until it is opened again, also after a restart. Its settings, points and webhooks are kept.'
export const openPort = 'Open port'
export const closePort = 'Close port'
export const closeQuestion = (name: string) => `Close ${name}?`
export const isClosed = (name: string) => `${name} is closed.`

// Figures of a port (port-page.ts)

export const lineLoad = 'Line load'
export const ofBaud = (baud: string) => `of ${baud} baud`
export const received = 'Received'
export const inAll = (number: string) => `${number} in all`
export const sent = 'Sent'
export const frames = 'Frames'
export const exceptions = 'Exceptions'
export const answeredToMaster = 'answered to the master'
export const asked = 'Asked'
export const answered = 'Answered'
export const unknownFrames = 'Unknown frames'
export const noFunctionOfModbus = 'no function of Modbus'
export const replyMiddle = 'Reply, middle'
export const noneFor1Min = 'none for 1\u202fmin'
export const mostWithin = (most: string) => `99\u202f% within ${most}\u202fms`
export const requests = 'Requests'
export const timeouts = 'Timeouts'
export const missesInAMinute = (misses: number, guilty: number, unit: number | undefined) =>
  `${misses} in 1\u202fmin${guilty === 1 ? `, unit ${unit}` : ''}`
export const checksumErrors = 'Checksum errors'
export const ofFrames = (rxFrames: number) => `of ${many(rxFrames, 'frame')}`
export const notCountedHere = 'not counted here'
export const framingErrors = 'Framing errors'
export const lookAtBaudAndParity = 'look at baud and parity'
export const sinceOpened = 'since it opened'
export const bytesLost = 'Bytes lost'
export const ofBytes = (rxBytes: string) => `of ${rxBytes}`

// Verdict over a port and its units (port-verdict.ts)

export const silentAsked = (time: string) => `silent, asked at ${time}`
export const silentSince = (since: string) => `silent since ${since}`
export const notAskedYet = 'not asked yet'
export const tooLate = 'too late'
export const missesSome = 'misses some'
export const noAnswerYet = 'no answer yet'
export const askedAgain = 'asked again'
export const isNotSetUp = (name: string) => `${name} is not set up.`
export const nothingIsReadOrSent = 'Nothing is read from it and nothing sent.'
export const lostBytes = (name: string, lost: number) => `${name} lost ${many(lost, 'byte')} in the driver.`
export const machineWasTooSlow = 'The machine was too slow to read them in time.'
export const nodesHaveLeft = (silent: number, total: number) =>
  `${silent} of ${many(total, 'node')} ${silent === 1 ? 'has' : 'have'} left the ring.`
export const ringNamesThem = 'The table of the ring says who, and since when. Look at power and wiring there.'
export const nodesAreThere = (total: number) => `${many(total, 'other node is', 'other nodes are')} in the ring.`
export const isOpenAndQuiet = (name: string) => `${name} is open. Nothing was received or sent yet.`
export const openFor = (openFor: string) => `Open for ${openFor}.`
export const isOpenAndRead = (name: string) => `${name} is open and its bytes are read.`
export const oneUnit = (units: string | undefined) => `Unit ${units}`
export const someUnits = (units: string) => `Units ${units}`
export const masterAsksOthers = (who: string) => `A master is heard, but it asks nothing of ${who}.`
export const lookAtAskedIds = 'Look at the unit ids it asks.'
export const waitForAMaster = (who: string, units: number) =>
  `${who} ${units === 1 ? 'waits' : 'wait'} for a master. None has asked yet.`
export const lookAtUnitId = 'Look at rate, parity and unit id when one should have.'
export const answerAMaster = (who: string, units: number) => `${who} ${units === 1 ? 'answers' : 'answer'} a master.`
export const noUnitWasAsked = 'The line is open. No unit was asked in the last minute.'
export const notWell = (bad: number) => ` ${capital(many(bad, 'more is', 'more are'))} not well.`
export const otherOneIsWell = ' The other one is well.'
export const otherAreWell = (well: number) => ` The other ${well} are well.`
export const doesNotAnswer = 'does not answer'
export const doNotAnswer = 'do not answer'
export const answersTooLate = 'answers too late'
export const answerTooLate = 'answer too late'
export const isNoisy = 'is noisy'
export const areNoisy = 'are noisy'
export const hasNotAnsweredYet = 'has not answered yet'
export const haveNotAnsweredYet = 'have not answered yet'
export const isBeingAskedAgain = 'is being asked again'
export const areBeingAskedAgain = 'are being asked again'
export const unitIsNoisy = (names: string, lately: string) => `Unit ${names} is noisy: ${lately}.`
export const unitIs = (names: string, one: string) => `Unit ${names} ${one}.`
export const unitsAre = (names: string, more: string) => `Units ${names} ${more}.`
export const repliesComeLate = (lateMs: number, waitMs: number) =>
  `Its replies begin up to ${lateMs}\u202fms after the request; this line waits ${waitMs}\u202fms and discards later ones.`
export const noReplyWithin = (waitMs: number, misses: number) =>
  `No reply began within ${waitMs}\u202fms, ${misses === 1 ? 'once' : `${misses} times`} in the last minute.`
export const askedAgainAt = (same: number, time: string) =>
  ` ${same === 1 ? 'It is' : 'The first is'} asked again at ${time}.`
export const lastWasAgo = (age: string) => ` The last one was ${age} ago.`
export const everyUnitIsAffected = ' Every unit is affected, so begin with what they share.'
export const unitRefuses = (unitId: number) => `Unit ${unitId} refuses`
export const unitsRefuse = (refusing: string) => `Units ${refusing} refuse`
export const refusesSome = (who: string) => `${who} some questions with an exception.`
export const logShowsExceptions = 'The log shows each exception.'
export const unitsAnswerAnotherMaster = (units: number, unitId: number | undefined) =>
  `${units === 1 ? `Unit ${unitId} is` : `${units} units are`} heard answering another master.`
export const unitAnswers = (unitId: number | undefined) => `Unit ${unitId} answers.`
export const unitsAnswer = (units: number) => `${whole(units, 'units')} answer.`
export const refused = (number: string) => `${number} refused`
export const kindDamaged = 'damaged'
export const kindMissing = 'missing'
export const kindTwice = 'twice'

// Panels beside the traffic (port-panels.ts)

export const waitsLongerNow = (name: string, waitMs: number) => `${name} waits ${waitMs}\u202fms for every reply now.`
export const isRemoved = (name: string) => `${name} is removed.`
export const removingMeans = (webhooks: number) =>
  `It is closed, and its settings, its points${webhooks === 0 ? '' : webhooks === 1 ? ' and its webhook' : ` and its ${webhooks} webhooks`} are forgotten. The line itself stays in the list as long as it is plugged in.`
export const removeQuestion = (name: string) => `Remove ${name}?`
export const bytesReceived = 'Bytes received'
export const bytesSent = 'Bytes sent'
export const framesReceived = 'Frames received'
export const framesSent = 'Frames sent'
export const parityErrors = 'Parity errors'
export const breaks = 'Breaks'
export const lostInDriver = 'Lost in the driver'
export const replies = 'Replies'
export const withoutReply = 'Without reply'
export const lateReplies = 'Late replies'
export const wrongReplies = 'Wrong replies'
export const cameTwice = 'Came twice'
export const ofTheLast = (exchanges: number) => `Of the last ${exchanges}`
export const lastReply = 'Last reply'
export const noneYet = 'none yet'
export const heldBack = 'Held back'
export const scan = 'Scan'
export const lastScan = 'Last scan'
export const unitIsForgotten = (unitId: number, isNoisy: boolean) =>
  `Unit ${unitId} is ${isNoisy ? 'counted from zero' : 'forgotten'}.`
export const heardInLastMinute = 'heard in the last minute'
export const onLine = (units: number) => `${units} on the line`
export const unitsCouldNotBeRead = 'The units could not be read'
export const noUnitHeard = 'No unit heard'
export const unitsAppearWhenAsked = 'Units appear as soon as another master asks them and they answer.'
export const noUnitAsked = 'No unit asked'
export const askUnits =
  'Ask one from the console, scan for units, or add points. Units asked over HTTP appear here as well.'
export const unitAndWord = (unitId: number, word: string) => `Unit ${unitId}, ${word}`
export const reply95Within = 'Reply, 95 % within'
export const longestReply = 'Longest reply'
export const countUnitFromZero = (unitId: number) => `Count unit ${unitId} from zero`
export const forgetUnit = (unitId: number) => `Forget unit ${unitId}`
export const holdingRegisters = 'Holding registers'
export const inputRegisters = 'Input registers'
export const coils = 'Coils'
export const discreteInputs = 'Discrete inputs'
export const unit = 'Unit'
export const table = 'Table'
export const from = 'From'
export const noRegisters = 'No registers'
export const chooseServedRegisters = 'Choose in the settings which registers this line serves.'
export const notServed = 'Not served'
export const nothingWasWrittenHereYet = 'Nothing was written here yet.'
export const lastWritten = (since: string) => `Last written at ${since}.`
export const refusedUntilIsWritten = (sign: string) => ` ${sign}: refused until it is written.`
export const valuesAreSet = (number: number, address: string | boolean | undefined) =>
  `${number === 1 ? 'One value is' : `${number} values are`} set from ${address} on.`
export const setFrom = 'Set from there'
export const firstOfPoints = (shown: number, rows: string) => `${shown} of ${rows}`
export const pointsCouldNotBeRead = 'The points could not be read'
export const noPoints = 'No points'
export const whatPointsAreInShort =
  'A point is a named value of a unit, read again and again. There are templates for many devices.'
export const damaged = (number: number) => `${number} damaged`
export const missing = (number: number) => `${number} missing`
export const twice = (number: number) => `${number} twice`
export const ago = (age: string) => `${age} ago`
export const more = (age: string) => `${age} more`
export const over = (ms: number) => `over ${ms}\u202fms`
export const upTo = (ms: number) => `to ${ms}\u202fms`

// The ring of an MS/TP line (ring-panel.ts)

export const ring = 'Ring'
export const ringIsNotKnown = 'The ring is not known yet'
export const ringCouldNotBeRead = 'The ring could not be read'
export const ringAppears = 'It appears once the line is open and a node has spoken.'
export const masters = (present: number) => many(present, 'master')
export const isMaster = 'master'
export const isSlave = 'slave'
export const isSelf = 'this gateway'
export const isGone = (since: string) => `gone since ${since}`
export const lastHeard = (since: string) => `last heard ${since}`
export const forgetNode = (mac: number) => `Forget node ${mac}`
export const nodeIsForgotten = (mac: number) => `Node ${mac} is forgotten until it is heard again.`
export const passesTo = (next: number) => `passes to ${next}`
export const turnOfToken = 'Turn of the token'
export const turnText = (median: string, most: string) => `${median}\u202fms, ${most}\u202fms at most`
export const ownTurn = 'Begins to send within'
export const tokenLostLast = 'Token lost last'
export const neverLost = 'never'

// Lines of the log (traffic.ts)

export const frameTo = (name: string, destination: number) => `${name} → ${destination === 255 ? 'all' : destination}`

export const bytesLong = (frame: number) => `${frame} byte${frame === 1 ? '' : 's'}`
export const exception = (code: string, name: string) => `Exception ${code}: ${name}`
export const lateReply = 'Late reply, discarded'
export const unexpectedReply = 'Unexpected reply, discarded'
export const ownBytes = 'Own bytes heard, discarded'
export const noise = 'Noise, discarded'
export const taken = 'taken'
export const trafficAnswered = (fc: string) => `${fc} answered`
export const noReplyIn = (ms: number) => `No reply within ${ms}\u202fms`
export const lineOpen = 'Line open'
export const lineIsBeingOpened = 'Line is being opened'
export const lineClosed = 'Line closed'
export const deviceAbsent = 'Device absent'
export const trafficLineWillNotOpen = 'Line will not open'
export const framesSkipped = (number: number) =>
  `${number} frames skipped here: they came faster than this page can show them`
export const andMore = (shown: string, rest: number) => `${shown} and ${rest} more`
export const unknownException = 'unknown'

// Values of a device by definition (equipment-panel.ts)

export const deviceValues = 'Values'
export const deviceValuesNotRead = 'The values could not be read'
export const noDeviceValues = 'No value yet.'
export const deviceValuesAppear = 'Values appear here as the device says them, asked or by itself.'

// Traffic (traffic-panel.ts)

export const sentReceived = (out: number, back: number) => `${many(out, 'frame')} sent, ${back} received`
export const lastThreeSecondsOnLine = (parts: string) => `Last three seconds on the line: ${parts}`
export const both = 'Both'
export const decoded = 'Decoded'
export const bytes = 'Bytes'
export const lineOnlyListens = 'This line only listens: another master sends the requests.'
export const lineIsAUnit = 'This line is a unit: it answers its master and sends no requests.'
export const administratorsSendHere = 'Administrators can send to the line from here.'
export const show = 'Show'
export const pause = 'Pause'
export const noFrameMatches = (filter: string) => `No frame matches ${filter}`
export const noErrors = 'No errors'
export const hidden = (hidden: number) => `${many(hidden, 'frame is', 'frames are')} hidden.`
export const nothingSeenYet = (name: string) =>
  `Nothing was seen on ${name} yet. Whatever is received or sent appears here by itself.`
export const isNotOpen = (name: string) => `${name} is not open, so nothing is read from it.`
export const noFrames = 'No frames'
export const pausesLog = 'pauses the log, or goes on'
export const bytesDecodedOrBoth = 'bytes, decoded or both'
export const errorsOnly = 'errors only'
export const frameBefore = 'frame before'
export const nextFrame = 'next frame'
export const copiesBytesOfFrame = 'copies the bytes of the frame'
export const console = 'console'
export const bytesCopied = (hex: number) => `${hex} bytes copied.`
export const repliesMissing = (number: number) => `${many(number, 'reply', 'replies')} missing`
export const someLate = (number: number) => `${number} late`
export const sideSent = 'sent'
export const sideReceived = 'received'
export const sideMaster = 'master'
export const sideGateway = 'gateway'
export const sideUnits = 'units'

// Console and capture (console.ts)

export const captureEnded = 'The gateway ended the capture. You can save what came until then.'
export const captureIsFull =
  'The capture has reached its limit. Save it; for a longer one, stream to Wireshark directly.'
export const answeredWithoutReason = (status: number) => `The gateway answered ${status} without a reason.`
export const captureIsSaved = (name: string) => `${name} is saved. Wireshark opens it.`
export const capturingFor = (age: string, isEmpty: boolean, size: string) =>
  `Capturing for ${age}, ${isEmpty ? 'no frame yet' : size}`
export const commandIsCopied = 'The command is copied.'
export const cr = 'CR'
export const lf = 'LF'
export const crLf = 'CR LF'
export const consoleSent = (sent: number) => `${many(sent, 'byte')} sent.`
export const typeAs = 'Type as'
export const hex = 'Hex'
export const asText = 'Text'
export const textToSend = 'Text to send'
export const bytesToSend = 'Bytes to send'
export const endsWith = 'Ends with'
export const send = 'Send'
export const sendToLine = 'Send to the line'
export const consoleFunction = 'Function'
export const values = 'Values'
export const value = 'Value'
export const write = 'Write'
export const askBus = 'Ask the bus'
export const nothingCanBeSent = 'The line is not open, so nothing can be sent.'
export const consoleUnit = (unitId: number, fc: string, address: string) => `Unit ${unitId}, ${fc} ${address}`
export const consoleTaken = ': taken'
export const atAddressShort = 'At'
export const count = 'Count'
export const writeFrom = 'Write from'
export const andMask = 'And mask'
export const orMask = 'Or mask'
export const endsWithNothing = 'nothing'

export const command = 'Command'
export const zoneOfCommand = 'Zone'
export const sendCommand = 'Send a command to the device'
export const deviceDid = (command: string) => `${command}: done`

// Meters of M-Bus (mbus-console.ts, mbus-scan.ts, record-points.ts), frames of MS/TP (mstp-console.ts)

export const meter = 'Meter'
export const meterHint = 'Primary address, 0 to 250, or the number on the meter.'
export const meterAct = 'Do'
export const readMeter = 'Read'
export const resetMeter = 'Reset link'
export const meterIsReset = (unitId: number) => `Meter ${unitId} has acknowledged.`
export const meterNamed = ({ id, manufacturer, medium }: { id: string; manufacturer: string; medium: string }) =>
  `${`${manufacturer} ${id}`.trim()}, ${medium}`
export const meterHasMore = 'it has more telegrams than are read'
export const onlyItsMakerReads = 'only its maker can read it'
export const heatEnergy = 'Heat, flat 1'
export const record = 'Record'
export const recordHint = 'As the console shows it when the meter is read.'
export const metersAnswered = (number: number) =>
  number === 0 ? 'No meter answered' : `${many(number, 'meter')} answered`
export const addressesAsked = (number: number) => `${number === 1 ? '1 address' : `${number} addresses`} asked.`
export const selectionsMade = (number: number) => `${many(number, 'selection')} made.`
export const metersCollide = (where: string) => `Several answer at once at ${where}: give each an address of its own.`
export const askingMeter = (current: string, found: string) => `Asking ${current}. ${found} so far.`
export const endedAt = (since: string) => `Ended ${since}.`
export const noMeterHint = 'Look at rate, parity and the level converter; most meters have 2400 baud, 8E1.'
export const scanStopped = (found: string) => `Stopped. ${found}.`
export const searchBy = 'Search by'
export const primaryAddress = 'Primary address'
export const secondaryAddress = 'Secondary address'
export const fromAddress = 'From address'
export const toAddress = 'To address'
export const numberWithWildcards = 'Number'
export const wildcardHint = 'F stands for any digit.'
export const primaryScanHint =
  'Each address is asked once. Meters without an address of their own are found by secondary address.'
export const secondaryScanHint = 'Finds every meter by its number, also where several have one primary address.'
export const atMeterAddress = (address: number) => `address ${address}`
export const frameTypeLabel = 'Frame type'
export const dataWithoutReply = 'Data, no reply'
export const dataWithReply = 'Data, with a reply'
export const longDataWithoutReply = 'Long data, no reply'
export const longDataWithReply = 'Long data, with a reply'
export const testRequest = 'Test request'
export const toNode = 'To'
export const dataHex = 'Data'
export const sendFrame = 'Send a frame'
export const frameIsSent = (sent: number) => `Sent, ${many(sent, 'byte')} on the line.`
export const nodeAnswered = (source: number, name: string) => `${source} answered: ${name}`
export const answeredLater = 'once it had the token'

// Points (points-page.ts)

export const points = 'Points'
export const backTo = (name: string) => `Back to ${name}`
export const addsDevice = 'adds a device'
export const addsPointByHand = 'adds a point by hand'
export const editsOneWithFocus = 'edits the one with the focus'
export const nextPoint = 'next point'
export const pointBefore = 'point before'
export const askingForPointsOfLine = 'Asking for the points of this line'
export const noPointMatches = (filter: string) => `No point matches ${filter}`
export const areHidden = (rows: string) => `${rows} are hidden.`
export const whatPointsAre =
  'A point is a named value of a unit, read again and again: 230.6 V on register 0 of unit 1. There are templates for many devices; any register can be added by hand.'
export const whatMeterPointsAre =
  'A point is a named value of a meter, read again and again. Read a meter in the console of its line, and add what it tells.'
export const rowUnit = (unitId: number | undefined) => `unit ${unitId}`

// State of points (points.ts)

export const noValue = 'no value'
export const notReadYet = 'not read yet'
export const unitIsSilent = (unitId: number) => `unit ${unitId} is silent`
export const unitDidNotAnswer = (unitId: number) => `unit ${unitId} did not answer`
export const lineHasNoPoints = 'This line has no points.'
export const noPointIsRead = 'The line is not open, so no point is read.'
export const valuesAreTheLastRead = 'The values are the last ones read.'
export const readsForPoints = (reads: number, rows: number) => `${many(reads, 'read')} for ${many(rows, 'point')}.`
export const pollingFallsBehind = (behind: number) =>
  `Polling falls behind: ${many(behind, 'read')} skipped since this page was opened.`
export const askLessOften = 'The line cannot carry this many reads. Read points less often, or raise its rate.'
export const readsAreLate = (age: string) => `Reads are up to ${age} late or early.`
export const firstValuesAreBeingRead = 'The first values are being read.'
export const ofAreRead = (read: number, all: number) => `${read} of ${many(all, 'point')} are read.`
export const isRead = (name: string | undefined) => `${name} is read.`
export const areRead = (rows: number) => `${whole(rows, 'points')} are read.`
export const hasNoFreshValue = (name: string | undefined) => `${name} has no fresh value.`
export const ofHaveNoFreshValue = (bad: number, all: number) => `${bad} of ${many(all, 'point')} have no fresh value.`
export const pointsAllOf = (message: string, who: string) => `${message} All of ${who}.`
export const theUnits = (units: string) => `units ${units}`

// Test read (test-read-page.ts)

export const testRead = 'Test read'
export const backToPoints = (name: string) => `Back to the points of ${name}`
export const onlyAdministratorsTestRead = 'Administrators read registers'
export const whatTestReadIs =
  'It is read once. Everything that each register may mean is shown; choose what is right to make a point of it.'
export const readNow = 'Read'
export const readAgain = 'Read again'
export const valueOnDisplay = 'Value on the device'
export const displayHint = 'What its display shows: the readings that are about this are picked out.'
export const noReadingIs = (typed: string) =>
  `No reading is about ${typed}. Try another address, or the other kind of register.`
export const atPlace = (place: string) => capital(place)
export const readOfUnit = (unitId: number, time: string) => `Unit ${unitId}, read at ${time}`
export const openAll = 'Open all'
export const closeAll = 'Close all'
export const dimmedIsUnlikely =
  'Dimmed readings are hardly what the device means: not a number, beyond what is measured, or what stands for no value.'
export const off = 'off'
export const on = 'on'
export const bits = 'Bits'
export const registersOf = (registers: number) => many(registers, 'register')
export const swapped = (registers: number) => `${many(registers, 'register')}, swapped`
export const timesScale = (scale: number) => ` × ${scale}`
export const tableOf = (fc: number) => ['', 'coil', 'discrete input', 'holding register', 'input register'][fc] ?? ''
export const makePointOf = (place: string, type: string) => `Make a point of ${place}, ${type}`
export const unlikely = (doubt: string) => `Unlikely: ${doubt}`

// Forms of points and devices (point-forms.ts)

export const whatIsUnit = (unitId: string) => `What is unit ${unitId}?`
export const addDevice = 'Add a device'
export const searchDevices = 'Search devices'
export const makerModelKind = 'maker, model, kind'
export const askingForDevices = 'Asking for the devices'
export const devicesAreOnGateway = 'The list is part of this gateway.'
export const devicesCouldNotBeRead = 'The devices could not be read'
export const noDeviceMatches = (filter: string) => `No device matches ${filter}`
export const devicesAreKnown = (templates: number) =>
  `${many(templates, 'device')} are known. Add any other device point by point, from its register list.`
export const pointUnit = (unit: string) => `Unit ${unit} `
export const pointsAreAdded = (points: number, typed: string | boolean | undefined) =>
  `${many(points, 'point')} of unit ${typed} are read from now on.`
export const unitId = 'Unit id'
export const fromMaker = (unitId: number) => `From the maker: ${unitId}`
export const readEvery = 'Read every'
export const pollHint = 'Empty: as the device list says.'
export const namesBegin = 'Names begin with'
export const namesAreTaken = 'Some names are taken already.'
export const prefixHint = 'Empty: names as below.'
export const holdingRegister = 'Holding register'
export const inputRegister = 'Input register'
export const coil = 'Coil'
export const discreteInput = 'Discrete input'
export const u16 = '16 bits, unsigned'
export const s16 = '16 bits, signed'
export const u32 = '32 bits, unsigned'
export const s32 = '32 bits, signed'
export const u64 = '64 bits, unsigned'
export const s64 = '64 bits, signed'
export const f32 = 'Float, 32 bits'
export const f64 = 'Float, 64 bits'
export const oneBit = 'One bit'
export const highFirst = 'High first'
export const lowFirst = 'Low first'
export const isChanged = (name: string | boolean | undefined) => `${name} is changed.`
export const pointIsAdded = (name: string) => `${name} is read from now on.`
export const point = (name: string) => `Point ${name}`
export const newPoint = 'New point'
export const save = 'Save'
export const addPoint = 'Add point'
export const voltageL1 = 'Voltage L1'
export const kind = 'Kind'
export const registerAddressHint = 'From 0: 40001 is 0.'
export const readAs = 'Read as'
export const bitHint = '0 is the lowest, 15 the highest.'
export const lengthHint = 'Two letters each.'
export const registerOrder = 'Register order'
export const byteOrder = 'Byte order'
export const unitOfMeasure = 'Unit of measure'
export const decimalsHint = 'Empty: all there are.'
export const deadbandHint = '0: by anything.'
export const isBack = (name: string) => `${name} is back.`
export const bit = 'Bit'
export const registers = 'Registers'
export const times = 'Times'
export const plus = 'Plus'
export const decimals = 'Decimals'
export const deadband = 'Report changes above'

// History of a point (history-page.ts, history-plot.ts)

export const pointHistory = 'History'
export const askingForHistory = (span: string) => `Asking the gateway for its history: ${span}`
export const historyCouldNotBeRead = 'The history could not be read.'
export const nothingRecorded = (name: string, span: string) => `Nothing is recorded of ${name} in the ${span}.`
export const recordingBegins =
  'The gateway keeps what a point does from when it is there. Texts are not kept. Look at a longer time, or come back in some minutes.'
export const hadAValueAlways = (name: string, span: string) => `${name} had a value all through the ${span}.`
export const hadNoValueAtAll = (name: string, span: string) => `${name} had no good value in the ${span}.`
export const hadNoValueFor = (name: string, missing: string, span: string) =>
  `${name} had no good value for ${missing} of the ${span}.`
export const wasNotRecordedFor = (off: string) => `The gateway did not record for ${off}.`
export const lookAtItsUnit = 'Look at its unit, and at the line.'
export const noGoodValue = 'no good value'
export const notRecorded = 'not recorded'
export const spans = { hour: 'last hour', day: 'last day', week: 'last week' } as const
export const spanChoice = { hour: 'Hour', day: 'Day', week: 'Week' } as const
export const leastValue = 'Least'
export const meanValue = 'Mean'
export const greatestValue = 'Greatest'
export const lastValue = 'last'
export const leastToGreatest = 'least to greatest'
export const withValue = 'With a value'
export const ofTimeRecorded = 'of the time recorded'
export const notRecordedFor = 'Not recorded'
export const gatewayWasOff = 'the gateway did not run, or had no such point'
export const exactTo = (step: string) => `exact to ${step}`
export const newestValue = 'Last'
export const meanOverTime = 'over the time with a value'
export const historySpoken = (name: string, low: string, high: string, unit: string) =>
  `${name} between ${low} and ${high}${unit === '' ? '' : ` ${unit}`}`
export const outages = 'Outages'
export const noOutage = 'None.'
export const moreOutages = (more: number) => `${many(more, 'more outage')} before these: they are in the CSV.`
export const saveCsv = 'Save as CSV'
export const csvIsSaved = 'The history is being saved as a table.'
export const switchesSpan = (span: string) => `shows the ${span}`

// A unit that is silent (silent-unit.ts)

interface Tried {
  requests: number
  replies: number
  timeouts: number
  damaged: number
}

export const silentTried = ({ damaged, replies, requests, timeouts }: Tried) =>
  `Asked ${counted(requests, 'time')}: ${counted(replies, 'reply', 'replies')}, ${counted(timeouts, 'time')} nothing valid within the wait${damaged > 0 ? `, ${damaged} with damaged bytes` : ''}.`
export const silentLate = (unitId: number, late: number) =>
  `Unit ${unitId} does answer, but too late: ${counted(late, 'reply', 'replies')} came after the wait was over.`
export const silentLateChecks = [
  'Wait longer for replies, in the settings of the line.',
  'Ask it less often: some devices work off one request at a time.',
] as const
export const silentDamaged = (unitId: number, checksums: number, others: number) =>
  `Something answers when unit ${unitId} is asked, but damaged: ${counted(checksums, 'wrong checksum')}, ${counted(others, 'time')} bytes that are no reply.`
export const silentDamagedChecks = (unitId: number, framing: string) => [
  `See whether two devices have the number ${unitId}: unplug one and ask again.`,
  `Compare its rate and parity with ${framing}; a rate that is nearly right damages single bytes.`,
  'See that both ends of the line have 120 ohms, and that the reference conductor is connected.',
  'Keep the line away from cables of drives and motors, or try a lower rate.',
]
export const silentRefuses = (unitId: number) => `Unit ${unitId} answers, and refuses everything that it was asked.`
export const silentRefusesChecks = [
  'Compare function and address with the register table of its maker; some count from 1.',
  'Read one register at a time: some devices refuse a range with a gap in it.',
] as const
export const answeredUntil = (unitId: number, lastAt: string) =>
  `Unit ${unitId} answered until ${lastAt}, and not since.`
export const silentSinceChecks = (othersAnswer: boolean) => [
  'See that the device has power, and what it shows.',
  othersAnswer
    ? 'Other units still answer: look at its own terminals, and at the cable behind the last unit that answers.'
    : 'No other unit answers either: look at the cable where it leaves the gateway.',
  'Ask whether somebody changed its number, rate or parity.',
]
export const silentAlone = (unitId: number, others: string) =>
  `${others.includes(' ') ? 'Units' : 'Unit'} ${others} ${others.includes(' ') ? 'answer' : 'answers'} on this line; unit ${unitId} sent nothing at all.`
export const silentAloneChecks = (unitId: number, framing: string) => [
  `Look at the number on the device: a scan of the line shows which numbers answer instead of ${unitId}.`,
  `Compare its own rate and parity with ${framing}: each device has its own setting.`,
  'See that it has power, and that A and B are not swapped at its terminals.',
]
export const silentLine = 'Not one byte has come in on this line.'
export const silentLineChecks = [
  'Swap A and B at the adapter: makers do not agree which is which.',
  'See that the devices have power, and that the cable ends in this adapter.',
  'See that the adapter switches from sending to receiving by itself; else set rs485 in the settings of the line.',
  'Put one single device on a short cable to the adapter, and ask that.',
] as const
export const silentNoise = (wrong: number) =>
  `Bytes come in, but nothing in them is a reply${wrong > 0 ? `; the driver counted ${wrong} with a wrong frame or parity` : ''}.`
export const silentNoiseChecks = (framing: string) => [
  `Compare rate, parity and stop bits of the devices with ${framing}.`,
  'Swap A and B: an idle line that is turned round looks like bytes.',
  'See whether another master asks on this line: listen to it in mode listen.',
]

// Commissioning report (report-page.ts)

export const report = 'Commissioning report'
export const takeAnew = 'Take anew'
export const print = 'Print'
export const takingReport = 'Asking the gateway for all that is on this line'
export const reportCouldNotBeTaken = 'The report could not be taken.'
export const lineAndBox = 'Line'
export const countedOfLine = 'Counted of the line'
export const signed = 'Signed'
export const takenBy = 'Taken by'
export const takenAt = 'Taken at'
export const remarks = 'Remarks'
export const nameAndSignature = 'Name, signature'
export const lineIsNotOpen = (name: string) => `${name} is not open: nothing on it could be checked.`
export const notAllIsWell = (name: string) => `Not all on ${name} is well.`
export const unitsNotWell = (units: string) => `Not well: unit ${units}.`
export const pointsWithoutValue = (names: string) => `Without a fresh value: ${names}.`
export const allIsWell = (units: number, points: number) =>
  `${many(units, 'unit')} ${units === 1 ? 'is' : 'are'} well, and ${many(points, 'point')} ${points === 1 ? 'has a' : 'have'} fresh ${points === 1 ? 'value' : 'values'}.`
export const gatewayName = 'Gateway'
export const deviceOfLine = 'Device'
export const adapterOfLine = 'Adapter'
export const lineSettings = 'Line settings'
export const protocolSettings = 'Settings of the protocol'
export const reportHasNoPoints = 'This line has no table of points.'
export const stateOfLine = 'State'
export const errorsInHour = 'Errors in the last hour'

// Settings of a port (port-settings.ts)

export const settings = 'Settings'
export const onlyAdministratorChangesSettings = 'Only an administrator changes settings'
export const signInAsOne = 'Sign in as one to go on.'
export const settingsOf = (name: string) => `Settings of ${name}`
export const inFieldSaves = 'in a field: saves'
export const isSetUp = (name: string) => `${name} is set up.`
export const setUp = (name: string) => `Set up ${name}`
export const saveAndReopen = 'Save and reopen'
export const saveAndOpen = 'Save and open'
export const protocol = 'Protocol'
export const savingOpens = 'The line is opened at once, now and after every start.'
export const savingReopens = 'The line is closed and opened again; requests that wait are refused.'
export const appliedAtOnceAndSaved = 'Applied at once and saved.'
export const findSettings = 'Unknown line? Find its settings'

// Fields of a port's settings (port-fields.ts)

export const lineIs = 'This line is'
export const masterAsksUnits = 'Master, asks units'
export const slaveIsUnit = 'Slave, is a unit'
export const listener = 'Listener'
export const replyWithin = 'Reply within'
export const replyWithinHint = 'From the end of the question to the first byte.'
export const lateRepliesWithin = 'Late replies within'
export const lateRepliesHint = 'A silent unit is left alone for this long. Empty: chosen from the reply time.'
export const modbusTcpPort = 'Modbus TCP port'
export const modbusTcpPortHint = '0 is off. Unit ids of Modbus TCP are those on the line.'
export const unitIds = 'Unit ids'
export const answersAsEachOfThem = 'It answers as each of them.'
export const registersServes = 'Registers it serves'
export const registersExample = 'holding 0 100 = 0\ninput 0 20'
export const registersHint =
  'One block a line: holding, input, coils or discrete, first address, how many, = value at the start. Without one a master is refused until it is written.'
export const registersAtMost = 'Registers at most'
export const allUnitsTogether = 'All units together'
export const modbusTcpClients = 'Modbus TCP clients'
export const atOnce = 'At once'
export const requestsOfOneClient = 'Requests of one client'
export const waitingAtOnce = 'Waiting at once'
export const lateRepliesAreOverAfter = 'Late replies are over after'
export const debtHint = 'A missing reply may still arrive until then'
export const repeatsWithin = 'Replies may come twice within'
export const repeatsHint = '0: nothing on the line repeats'
export const repliesKept = 'Replies kept to spot duplicates'
export const atMostOfAllUnits = 'At most, for all units'
export const repliesWithoutDuplicate = 'Replies without a duplicate'
export const repliesWithoutDuplicateHint = 'After so many, a unit is trusted again'
export const wholeRequestWithin = 'Whole request within'
export const requestsWaiting = 'Requests waiting'
export const moreAreRefused = 'More are refused'
export const reservedForHands = 'Reserved for requests by hand'
export const reservedForHandsHint = 'Places in the queue that polling leaves free'
export const byHandInRow = 'Requests by hand in a row'
export const byHandInRowHint = 'After so many, a waiting point is read'
export const missesUntilSilent = 'Misses until silent'
export const missesHint = 'Then a unit is asked only now and then'
export const silentAskedAgainAfter = 'Silent: asked again after'
export const silentAskedAtLatest = 'Silent: asked again at the latest after'
export const scanWaitsAtMost = 'Scan waits at most'
export const scanTriesUnit = 'Scan tries a unit'
export const scanTriesHint = 'While the queue of the line is full'
export const slowUntilWell = 'Slow until well for'
export const noiseJudged = 'Noise judged by'
export const noisyWindowHint = 'The last ones with each unit'
export const noisyFrom = 'Noisy from'
export const noisyFromHint = 'Of these damaged, missing or twice'
export const noisyUntil = 'Noisy until'
export const noisyUntilHint = '0: all of them came whole'
export const noisyFromAtLeast = 'Noisy from at least'
export const noisyLeastHint = 'Bad exchanges it takes, whatever the share'
export const neverAnswered = 'Never answered: forgotten after'
export const neverAnsweredHint = 'Counted from when it was last asked'
export const readAgainAfterWrite = 'Read again after a write'
export const rereadHint = 'At most this often; 0: never'
export const valueIsOldAfter = 'A value is old after'
export const staleHint = 'Empty: chosen from how often it is read'
export const readAlongBetweenPoints = 'Read along between points'
export const registersOfOneRead = 'Registers of one read'
export const atMostForPoints = 'At most, for points'
export const gapBeforeRequest = 'Gap before a request'
export const gapHint = '0 is 3.5 characters'
export const pauseInsideFrame = 'Pause inside a frame'
export const longestSend = 'Longest send'
export const pauseAfterBroadcast = 'Pause after a broadcast'
export const ownBytesHeard = 'Own bytes heard'
export const detected = 'Detected'
export const always = 'Always'
export const never = 'Never'
export const rate = 'Rate'
export const dataBits = 'Data bits'
export const parity = 'Parity'
export const none = 'None'
export const even = 'Even'
export const odd = 'Odd'
export const mark = 'Mark'
export const stopBits = 'Stop bits'
export const flowControl = 'Flow control'
export const lowLatency = 'Low latency'
export const lowLatencyHint = 'The driver hands bytes on at once. Most USB adapters wait 16 ms without it.'
export const rs485DirectionByDriver = 'RS-485 direction by the driver'
export const rs485Hint = 'Adapters that switch direction by themselves do not need this.'
export const beforeSending = 'Before sending'
export const afterSending = 'After sending'
export const rtsHighWhileSending = 'RTS high while sending'
export const hearOwnBytes = 'Hear own bytes'
export const frameEnds = 'A frame ends with'
export const silence = 'Silence'
export const byDelimiter = 'A delimiter'
export const fixedLength = 'A fixed length'
export const lengthField = 'A length field'
export const delimiter = 'Delimiter'
export const delimiterHint = 'Hex pairs: 0D 0A'
export const length = 'Length'
export const bytesBeforeField = 'Bytes before the field'
export const sizeOfField = 'Size of the field'
export const highByteFirst = 'High byte first'
export const lowByteFirst = 'Low byte first'
export const addedToField = 'Added to the field'
export const tcpPort = 'TCP port'
export const tcpPortHint = '0 is off. What comes in goes to the line as it is.'
export const tcpClients = 'TCP clients'
export const sendWithin = 'Send within'
export const sendWithinHint =
  'A line that accepts nothing for this long is given up, and what was waiting is discarded.'
export const longestFrame = 'Longest frame'
export const sendsWaiting = 'Sends waiting'

export const definition = 'Device definition'
export const definitionHint =
  'Its name, such as samsung-mdc or mettler-toledo-sics; docs/device-definitions.md lists them.'
export const deviceSettings = 'Settings of the device'
export const pairsHint = 'Such as the id of a display: id=1. Several with commas.'
export const zonesPolled = 'Zones'
export const zonesHint = 'Of a device with several, such as outputs: those that are asked again and again.'
export const pollEvery = 'Ask every'
export const askEveryHint = '0 takes what the definition says.'
export const holdHint = 'Nothing is sent so long after an answer that is missing.'
export const commandsWaiting = 'Commands waiting'

export const retries = 'Asked again'
export const retriesHint = 'If no valid answer came.'
export const telegramsOfReading = 'Telegrams of one reading'
export const telegramsHint = 'Of a meter with more than one.'
export const selectionsOfScan = 'Selections of one scan'
export const meterGapHint = 'Empty: 33 bits, as the standard says.'
export const nodeOrListen = 'On the ring it'
export const isNodeOfRing = 'is a node: has an address and sends'
export const ringListener = 'listens, and never sends'
export const macAddress = 'Address (MAC)'
export const macHint = 'Of this gateway; no other node may have it.'
export const highestMaster = 'Highest master'
export const highestMasterHint = 'No master has a higher address. A low one finds new nodes sooner.'
export const framesPerToken = 'Frames with one token'
export const framesTold = 'Events for'
export const allFrames = 'every frame'
export const dataFrames = 'frames with data'
export const tokenUsedWithin = 'Token used within'
export const tokenUsedHint = 'A USB adapter that keeps bytes back needs 30 ms or more.'
export const postponedWithin = 'Postponed reply within'
export const lateAnswerWithin = 'Missing reply may come for'
export const tokenWithin = 'A frame waits for the token'
export const routerPort = 'Router to BACnet/IP: UDP port'
export const routerPortHint = '0: no router. Usually 47808.'
export const ringNetwork = 'Network of the ring'
export const ipNetwork = 'Network of BACnet/IP'
export const routerListens = 'Router listens on'
export const broadcastAddress = 'Broadcast address'
export const foreignDevices = 'Foreign devices'
export const foreignPerAddress = 'Foreign devices of an address'
export const broadcastsPerSecond = 'Broadcasts per second'
export const nodeGoneAfter = 'A node has left after'
export const framesWaiting = 'Frames waiting'

// Scan (scan-page.ts)

export const noScanWasRunYet = 'No scan was run yet.'
export const howScansWork = 'It asks one unit id after another; everything else on the line goes first.'
export const noUnitAnswered = 'No unit answered'
export const timeToGo = (age: string) => ` ${age} to go.`
export const askingUnit = (current: number, found: string) => `Asking unit ${current}. ${found} so far.`
export const unitSays = (names: string) => `It says: ${names}.`
export const couldBe = (device: string, why: string) => `Could be: ${device} (${why}).`
export const codesFit = (fit: number, signs: number) => `${fit} of ${many(signs, 'sign')} ${fit === 1 ? 'fits' : 'fit'}`
export const valuesArePlausible = 'the values at its addresses are plausible'
export const setItsPoints = 'Set its points'
export const unitIsUnknown = 'Unknown: none of the devices known here fits.'
export const whatWasTried = 'What was tried'
export const findOutWhatTheyAre = 'Find out what they are'
export const askingWhatIs = (unitId: number, found: string) => `Asking unit ${unitId} what it is. ${found}.`
export const askedOf = (asked: number, total: number, left: string) => `${asked} of ${total} asked.${left}`
export const scanEnded = (range: string, since: string, found: number) =>
  `${range} at ${since}. ${found === 0 ? 'Look at rate, parity and wiring; a unit may also answer only another function.' : ''}`
export const stoppedAfter = (asked: number, total: number, found: string) =>
  `Stopped after ${asked} of ${total}. ${found}.`
export const scanFailed = 'The scan failed.'
export const askedOfFound = (asked: number, total: number, found: string) => `${asked} of ${total} asked. ${found}.`
export const answeredWithException = (code: string, name: string) => `answered with exception ${code}: ${name}`
export const scanCouldNotBeRead = 'The scan could not be read'
export const readHoldingRegister = 'Read holding register'
export const readInputRegister = 'Read input register'
export const readDiscreteInput = 'Read discrete input'
export const scanTakes = (waitMs: number) =>
  `An id nobody has takes ${waitMs}\u202fms. An exception counts as an answer too.`
export const nobodyCanBeAsked = 'The line is not open, so nobody can be asked.'
export const fromUnit = 'From unit'
export const toUnit = 'To unit'
export const atAddress = 'At address'
export const scanAgain = 'Scan again'
export const startScan = 'Start scan'
export const unitsAnswered = (number: number) => `${many(number, 'unit')} answered`
export const unitsFromTo = (from: number, to: number) => `units ${from} to ${to}`
export const hasAnswered = 'answered'

// Hunt (hunt-page.ts)

export const noHuntYet = 'No hunt has run yet.'
export const howHuntsWork =
  'It listens at each rate and parity for Modbus, M-Bus and BACnet MS/TP, and sends nothing unless it is told to.'
export const huntOn = (name: string) => `Find the settings of ${name}`
export const huntListensAt = (current: string) => `Listening at ${current}.`
export const huntAsksAt = (current: string) => `Asking at ${current}.`
export const settingsTried = (tried: number, total: number) => `${tried} of ${total} settings tried.`
export const driverRefused = (settings: string) => `The driver refuses ${settings}.`
export const huntCouldNotBeRead = 'The hunt could not be read'
export const anyOfThese = 'Any of these'
export const askIfSilent = 'Ask units if nobody talks'
export const askIfSilentHint =
  'Reads one register of Modbus units 1 to 10 and 247, and the data of M-Bus meters 0 to 10. Nothing is written.'
export const huntCloses =
  'The port is closed for a few minutes: its requests are refused. Then it opens again with its present settings.'
export const huntOpens =
  'Listening takes 40 s at most, asking up to seven minutes more. The line’s settings stay as they are.'
export const huntQuestion = (name: string) => `Close ${name} for a hunt?`
export const leaveOpen = 'Leave it open'
export const startHunt = 'Start hunt'
export const huntAgain = 'Hunt again'
export const sure = 'sure'
export const maybeChance = 'may be chance'
export const takeSetting = (framing: string) => `Take ${framing}`

// Users and API keys (users-page.ts)

export const peopleAndKeys = (admins: number, viewers: number, keys: number) =>
  `${many(admins, 'administrator')}, ${many(viewers, 'viewer')}, ${many(keys, 'API key')}.`
export const haveExpired = (names: string, number: number) => `${names} ${number === 1 ? 'has' : 'have'} expired.`
export const callsAreRefused = (expired: number, counts: string) =>
  `Calls with ${expired === 1 ? 'this key' : 'these keys'} are refused. ${counts}`
export const expiresIn = (name: string, age: string) => `${name} expires in ${age}.`
export const makeANewKey = (counts: string) => `Make a new key for it before then. ${counts}`
export const onlyOneAdministrator = (username: string) => `${username} is the only one who may change things.`
export const administratorsMayChangeThings = (admins: number) => `${admins} administrators may change things.`
export const neverExpires = 'never expires'
export const expired = (date: string) => `expired ${date}`
export const left = (age: string) => `${age} left`
export const neverUsed = 'never used'
export const allLines = 'all lines'
export const noLine = 'no line'
export const userIsAdded = (username: string | boolean | undefined) => `${username} may sign in from now on.`
export const addUser = 'Add user'
export const user = (username: string) => `User ${username}`
export const newUser = 'New user'
export const role = 'Role'
export const viewerHint = 'A viewer reads everything but webhooks, users and the journal, and changes nothing.'
export const newPassword = 'New password'
export const newPasswordHint = 'Empty: stays as it is. A new one signs the user out everywhere.'
export const userIsRemoved = (username: string) => `${username} may no longer sign in.`
export const removingUserMeans = (username: string) =>
  `${username} is signed out at once and may not sign in again. What ${username} did stays in the journal; API keys stay as well.`
export const yourPasswordIsChanged = 'Your password is changed. You are signed out everywhere else.'
export const passwordNow = 'Password now'
export const in30Days = 'In 30 days'
export const in90Days = 'In 90 days'
export const inYear = 'In a year'
export const isGoodUntilIsRemoved = 'It is good until it is removed.'
export const until = (date: string) => `Until ${date}.`
export const newApiKey = 'New API key'
export const bms = 'BMS'
export const keyNameHint = 'The system that uses the key; the journal shows this name.'
export const keyRoleHint = 'A viewer only reads. Sending to a line needs an administrator.'
export const expires = 'Expires'
export const everyLine = 'Every line'
export const keyOf = (name: string) => `Key of ${name}`
export const keyOfIsCopied = (name: string) => `The key of ${name} is copied.`
export const keyIsRemoved = (name: string) => `The key of ${name} is refused from now on.`
export const lastUsed = 'Last used'
export const made = 'Made'
export const apiKey = (name: string) => `API key ${name}`
export const removeKey = (name: string) => `Remove the key of ${name}?`
export const askingGatewayWhoMaySign = 'Asking the gateway who may sign in'
export const mayOnlyRead = (you: string) => `${you} may read everything and change nothing.`
export const onlyAdministratorsSeeUsers = 'Only administrators see who may sign in, and the keys of other systems.'
export const newUserKey = 'new user'
export const newApiKeyKey = 'new API key'
export const usersCouldNotBeRead = 'The users could not be read'
export const noUserMatches = (filter: string) => `No user matches ${filter}`
export const escShowsAll = 'Esc in the filter shows all again.'
export const cannotBeRemovedLastAdministrator = 'cannot be removed: the last administrator'
export const apiKeysCouldNotBeRead = 'The API keys could not be read'
export const noApiKeys = 'No API keys'
export const whatKeysAre =
  "A key lets another system call this gateway without anyone's password. It outlives restarts."
export const noKeyMatches = (filter: string) => `No key matches ${filter}`
export const usedAgo = (age: string) => `used ${age} ago`
export const expiresNever = 'never'
export const you = 'you'

// Webhooks (webhooks-page.ts)

export const switchedOff = 'switched off'
export const paused = ', paused'
export const nothingSentYet = 'nothing sent yet'
export const lastAgo = (ago: string) => `last ${ago} ago`
export const eventsDropped = (dropped: number) => `${many(dropped, 'event')} dropped.`
export const noWebhooks = 'No webhooks.'
export const nothingSentSoFar = 'Nothing was sent yet.'
export const targetsTakeWhatIsSent = (all: number) =>
  `${all === 1 ? 'The target takes' : 'All targets take'} what is sent.`
export const eventsDelivered = (taken: number) => `${many(taken, 'event')} delivered.`
export const targetsTakeNothing = (failing: string, all: number, number: number) =>
  `${failing} of ${many(all, 'target')} ${number === 1 ? 'takes' : 'take'} nothing.`
export const eventsDeliveredInAll = (taken: number) => `${many(taken, 'event')} delivered in all. `
export const waitingForTarget = 'Waiting for the target, ten seconds at most.'
export const everyFrame = 'every frame'
export const pointChanged = 'a point changed'
export const unitFellSilentOrCameBack = 'a unit fell silent or came back'
export const masterWroteToLine = 'a master wrote to this line'
export const masterCameOrWent = 'a master came, went or lost events'
export const masterSetTime = 'a master set the time'
export const lineChanged = 'the line opened, closed or is gone'
export const somethingWentWrong = 'something went wrong'
export const hookIsSaved = 'Saved. Events are posted this way from now on.'
export const hookIsAdded = (name: string) => `Events of ${name} are posted from now on.`
export const webhook = (target: string) => `Webhook ${target}`
export const newWebhook = 'New webhook'
export const eventsOf = 'Events of'
export const address = 'Address'
export const addressHint = 'Every event is posted there as JSON. Redirects are not followed.'
export const signDeliveries = 'Sign deliveries'
export const signHint = 'HMAC-SHA-256 of the body, in X-Svc-Signature.'
export const secret = 'Secret'
export const secretIsSet = 'Set. Type a new one to replace it.'
export const secretIsNotSet = 'Not set. The receiver needs the same one.'
export const headers = 'Headers'
export const headersExample = 'Authorization: Basic …'
export const headersHint = 'One a line, name and value.'
export const switchedOn = 'Switched on'
export const addWebhook = 'Add webhook'
export const anotherEvent = 'another event'
export const noneIsTicked = 'None ticked: every event is posted.'
export const onlyThoseTickedArePosted = 'Only those ticked are posted.'
export const hookIsRemoved = (target: string) => `Nothing is posted to ${target} any more.`
export const removingHookMeans = (name: string, url: string) =>
  `Events of ${name} are no longer posted to ${url}. Those that wait are dropped.`
export const newWebhookKey = 'new webhook'
export const sendsSampleToOpen = 'sends a sample to the open one'
export const onlyAdministratorsSeeWebhooks = 'Only administrators see webhooks'
export const hooksHoldAddresses = 'They hold addresses and headers of other systems.'
export const askingGatewayForWebhooks = 'Asking the gateway for its webhooks'
export const oneQuestionALine = 'One request for each line that has some.'
export const noWebhooksYet = 'No webhooks'
export const whatHooksDo = "Add one to have a line's events posted to a system of yours."
export const noTargetMatches = (filter: string) => `No target matches ${filter}`
export const allEvents = 'all events'
export const sampleArrived = (delivered: boolean, took: string, message: string) =>
  `${delivered ? 'The sample arrived' : 'The sample did not arrive'} after ${took}: ${message}.`

// A DNP3 outstation (outstation-panel.ts, outstation-console.ts, outstation-fields.ts)

export const pointKindNames = {
  binary: 'Binary',
  double_bit: 'Double-bit',
  analog: 'Analog',
  counter: 'Counter',
  frozen_counter: 'Frozen counter',
  octet_string: 'Octet string',
}
export const doubleBitNames: Record<string, string> = {
  on: 'on',
  off: 'off',
  intermediate: 'in between',
  indeterminate: 'unknown',
}
export const pointIsOn = 'on'
export const pointIsOff = 'off'
export const valueIsGood = 'good'
export const sourceIsLost = 'source lost'
export const valueIsForced = 'forced by hand'
export const bytesAsHex = 'Bytes as hex'
export const pointKind = 'Kind of point'
export const pointIndex = 'Index'
export const pointQuality = 'Quality'
export const setPoint = 'Set'
export const setPointOfLine = 'Set a point'
export const pointIsSet = (kind: string, index: number, value: string) =>
  `${kind} ${index} is ${value} now. Masters are told of it.`
export const pointWasSo = (kind: string, index: number, value: string) =>
  `${kind} ${index} is ${value}. That is no event for a master.`
export const mastersHere = 'Masters'
export const outstationNotRead = 'The outstation could not be read'
export const masterStates = {
  unheard: 'not heard yet',
  present: 'is there',
  unconfirming: 'does not confirm events',
  left: 'has closed its connection',
  gone: 'is gone',
}
export const toldOf = (classes: string) => `told of classes ${classes}`
export const pointsAssigned = (points: number) => `${counted(points, 'point')} in another class`
export const eventsWereLost = 'events were lost'
export const waitingTitle = 'Events of class 1, 2 and 3 that wait for this master'
export const indicationNames: Record<string, string> = {
  need_time: 'asks for the time',
  local_control: 'local control',
  device_trouble: 'device trouble',
  config_corrupt: 'configuration corrupt',
}
export const noPointsHere = 'No points'
export const noPointsMean = 'Say in the settings how many points of each kind there are.'
export const earlierPoints = 'Earlier'
export const furtherPoints = 'Further'
export const ofPoints = (from: number, to: number, all: number) => `${from} to ${to} of ${all}`
export const neverSet = 'never set'
export const flagNames: Record<string, string> = {
  restart: 'not set since the start',
  comm_lost: 'source lost',
  remote_forced: 'forced elsewhere',
  local_forced: 'forced by hand',
  chatter_filter: 'chatters',
  over_range: 'beyond its range',
  reference_error: 'reference wrong',
  rollover: 'rolled over',
  discontinuity: 'cannot be compared',
}
export const noEvents = 'no events'
export const outstationAddress = 'Outstation address'
export const ofThisGateway = 'Of this gateway.'
export const masterAddress = 'Master address'
export const moreMasters = 'Further masters'
export const moreMastersHint = 'Their addresses. Each has events of its own.'
export const commandsAreAnswered = 'Commands are answered'
export const commandAnswerNames = {
  not_supported: 'not supported',
  success: 'carried out',
  hardware_error: 'hardware fault',
  local: 'local control',
  not_authorized: 'not allowed',
}
export const commandAnswerHint =
  'Choose carried out only where another system listens to the event control and does it.'
export const tellUnasked = 'Tell events unasked'
export const tellUnaskedHint = 'In the classes that the master enables.'
export const dnp3Tcp = 'DNP3 over TCP'
export const dnp3TcpHint = 'Port; 0 is off, 20000 is usual. Anybody who reaches it can read, without login.'
export const dnp3TcpClients = 'TCP connections'
export const classOf = (kind: string) => `Class of ${kind.toLowerCase()}`
export const eventsPerClass = 'Events of a class'
export const eventsPerClassHint = 'For each master. Beyond, the oldest is dropped.'
export const confirmWithin = 'Master confirms within'
export const gatherFor = 'Gather changes for'
export const tellAgain = 'Tell again'
export const tellPause = 'Then pause for'
export const operateWithin = 'Operate within'
export const restartsAreAnswered = 'Restarts are answered'
export const restartAnswerNames = {
  no_function: 'not supported',
  already_executing: 'already executing',
  delay: 'with a time',
}
export const restartAfter = 'Master asks again after'
export const timeOfEvents = 'Time of events'
export const ownClock = 'clock of this gateway'
export const clockOfMaster = 'time set by the master'
export const timeIsGoodFor = 'Time is good for'
export const masterGoneAfter = 'Master is gone after'
export const zeroIsNever = '0 is never.'
export const longestFragment = 'Longest fragment'
export const frameWithin = 'Rest of a frame within'
export const unsentAtMost = 'Unsent at most'

// System (system-page.ts)

export const askingGatewayHow = 'Asking the gateway how it is'
export const clockIsOff = (age: string, aheadMs: number) =>
  `This gateway's clock is ${age} ${aheadMs > 0 ? 'behind' : 'ahead of'} this browser's.`
export const oneClockIsWrong = 'One of the two is wrong; times in the log are the gateway’s.'
export const littleMemoryIsFree = (freeBytes: string) => `Only ${freeBytes} of memory are free.`
export const ofMemory = (totalBytes: string) => `Of ${totalBytes}.`
export const hasRun = (name: string, age: string) => `${name} has run for ${age}.`
export const time = 'Time'
export const up = 'Up'
export const machine = (age: string) => `machine ${age}`
export const memoryUsed = 'Memory used'
export const memoryFree = (freeBytes: string, totalBytes: string) => `${freeBytes} of ${totalBytes} free`
export const load = 'Load'
export const over15Min = (perQuarter: string) => `${perQuarter} over 15 min`
export const product = 'Product'
export const host = 'Host'
export const kernel = 'Kernel'
export const node = 'Node'
export const started = 'Started'
export const temperature = 'Temperature'
export const noAddress = 'No address'
export const noInterfaceIsReachable = 'No interface has one that others could reach.'
export const gatewayIsCalled = (name: string | boolean | undefined) => `This gateway is called ${name}.`
export const nameOnPlate = 'Name on the plate'
export const thisGateway = 'This gateway'
export const administrator = 'administrator'
export const viewer = 'viewer'

// MQTT (mqtt-panel.ts)

export const mqtt = 'MQTT'
export const askingMqtt = 'Asking how the broker is'
export const mqttNotRead = 'The state of the broker could not be read'
export const mqttIsOff = 'No broker is set'
export const mqttIsOffMeans =
  'Put the address of a broker into mqtt.url of gateway.toml: values, states and events are then published there, and Home Assistant finds the points.'
export const mqttIsThere = (broker: string) => `${broker} takes messages`
export const mqttIsThereMeans = (since: string, topics: string) => `Since ${since}. It keeps ${topics}.`
export const mqttIsAsked = (broker: string) => `${broker} is asked`
export const mqttIsAskedMeans = 'It has 10 seconds by default (mqtt.connect_ms).'
export const mqttIsAway = (broker: string, since: string) => `${broker} is away since ${since}`
export const mqttIsAwayMeans = (reason: string, again: string) =>
  `${reason}. It is tried again ${again}; then it gets the newest of everything.`
export const inAWhile = (age: string) => `in ${age}`
export const brokerAtOnce = 'at once'
export const underTopic = 'Topics'
export const encryption = 'Encryption'
export const mqttIsSecure = 'TLS'
export const mqttIsPlain = 'none: values and the password cross the network as they are'
export const messagesTaken = 'Messages taken'
export const messagesWait = 'Waiting'
export const messagesWaiting = (topics: string, events: string) => `${topics}, ${events}`
export const brokerDropped = 'Events dropped'
export const topicsRefused = 'Topics left out'
export const raiseTopics = (times: string) => `${times}; raise mqtt.topics`
export const raiseQueue = (times: string) => `${times}; the broker was away too long, or is too slow`
export const testArrived = (topic: string, took: string) => `The broker had a message to ${topic} after ${took}.`
// Certificate (certificate-panel.ts)

export const pageWasSentEncrypted = 'This page was sent encrypted.'
export const encryptedByAnother =
  'This page was sent encrypted by a proxy in front: the gateway itself speaks plain HTTP.'
export const plainHttpMeans =
  'Passwords and frames cross the network as they are. Keep it inside the plant network, or have the root CA trusted and set http.tls to true.'
export const https = 'HTTPS'
export const plainHttp = 'Plain HTTP'
export const holdsFor = 'Holds for'
export const renewedBefore = 'Renewed before'
export const rootEnds = 'Root CA ends'
export const rootFingerprint = 'SHA-256 of the root'
export const trustTheRoot =
  'Install the root CA on each computer that opens this page, as an authority for web sites, and compare its SHA-256, which stands here once it was downloaded. Browsers then trust this gateway, after each renewal too.'
export const rootMayNotSign = (names: string) => `No certificate for ${names}`
export const nameCameLater =
  'The name came up after the root CA was made. The chapter HTTPS of the manual says how to make another root.'

// Name plate (state.ts)

export const gateway = 'Gateway'
