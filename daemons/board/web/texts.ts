/**
 * Texts of the board's pages: labels, hints, questions, verdicts, toasts, empty states. Sorted by the file that uses
 * them; shared ones are at the first. Text between the tags of a template stays there.
 */
import { many, whole } from '#kit/web/numbers.ts'

// On every page (app.ts)

export const restart = 'Restart'
export const address = 'Address'
export const timeIsOver = 'the time is over'
export const identify = 'Identify'
export const password = 'Password'
export const boardDoesNotTakePassword = 'The board does not take this password.'
export const live = 'Live'
export const matrix = 'Matrix'
export const settings = 'Settings'
export const firmware = 'Firmware'
export const system = 'System'
export const askingBoardHow = 'Asking the board how it is'
export const today = 'Today'
export const journal = 'Journal'
export const timeLeft = (age: string) => `${age} left`

// Roles and reasons of a start (words.ts)

export const encoder = 'Encoder'
export const decoder = 'Decoder'
export const serialServer = 'Serial server'
export const usbServer = 'USB server'
export const wordsSerialServer = 'serial server'
export const sendsSoundFromInputToNetwork = 'Sends sound from its input to the network.'
export const playsStreamFromNetwork = 'Plays a stream from the network.'
export const sharesUpToFourSerialLines = 'Shares up to four serial lines with computers on the network.'
export const sharesUsbDevice = 'Shares a USB device with one computer on the network.'
export const unknownRole = 'Unknown role'
export const needsLook = 'needs a look'
export const forReasonIsNotKnown = 'for a reason that is not known'
export const forFirstTime = 'for the first time'
export const powerCame = 'power came on'
export const settingsWereSaved = 'settings were saved'
export const somebodyRestarted = 'somebody restarted it'
export const newFirmwareWasInstalled = 'new firmware was installed'
export const wasReset = 'it was reset'
export const serviceWasStarted = 'its service was started'
export const crashMeans = 'the program had stopped by itself'

// While the board is away (state.ts)

export const boardIsBackAfter = (age: string) => `The board is back after ${age}.`
export const mayBe = (places: string) => ` It may be at ${places}.`
export const hasNotComeBack = (so: string, age: string, where: string) =>
  `It has not come back for ${so}, and ${age} were expected.${where} Check its power and network.`
export const boardRestarts = (age: string, so: string) => `The board restarts, about ${age}. ${so} so far.`
export const unknownBoard = 'Board'
export const box = 'board'

// First run (first-run.ts)

export const name = 'Name'
export const role = 'Role'
export const done = 'Done'
export const setUp = 'Set up.'
export const leaveOpen = 'Leave it open'
export const goOn = 'Go on'
export const useAs = (roleNouns: string) => `Use as ${roleNouns}`
export const toBoard = 'To the board'
export const showPassword = 'Show password'
export const emptyPasswordMeans =
  'Left empty, everybody on this network can see and change this board, and its pages warn of that.'
export const writePasswordDown = 'Write it down. Without it, only a factory reset at the board gives access again.'
export const nameHint =
  'Shown on every page and in the matrix, so that nobody works on the wrong device. Example: Lift shaft.'
export const hostName = 'Host name'
export const hostNameHint =
  'Its name on the network: lower-case letters, digits and hyphens. Browsers find it under this name with .local.'
export const isNotBackYet = 'It is not back yet'
export const restarts = 'It restarts'
export const board = 'The board'
export const isOpenToEverybodyOnNetwork = 'It is open to everybody on this network.'
export const asksForPassword = 'It asks for its password.'

// State of a board, verdict over all (matrix.ts)

export const matrixBoard = 'This board.'
export const beingAskedHow = 'Being asked how it is.'
export const answersBoardOnly =
  'It answers this board, but not this browser: it may not have found this board yet, or is in another network.'
export const knownFromBefore = 'Known from before this board started. It is being asked whether it is there.'
export const isGone = 'It is gone.'
export const goneSince = (since: string, age: string) => `Gone since ${since}, ${age}.`
export const staysUntilItAnswers = (since: string) => `${since} It stays listed until it answers or is dismissed.`
export const doesNotAnswer = 'It does not answer.'
export const lastHeard = (since: string, age: string) => `It does not answer. Last heard ${since}, ${age} ago.`
export const noOtherBoardWasHeardYet = 'No other board was heard yet.'
export const boardsAnnounceThemselves = 'Boards announce themselves within seconds.'
export const boardsAreBeingAsked = (asked: number, rows: number) =>
  `${many(asked, 'board')} of ${rows} ${asked === 1 ? 'is' : 'are'} being asked.`
export const boardIsWell = 'The board is well.'
export const areWell = (rows: number) => `${whole(rows, 'boards')} are well.`
export const someBoardsAreWell = (well: number, rows: number, names: string, needy: number) =>
  `${well} of ${many(rows, 'board')} ${well === 1 ? 'is' : 'are'} well. ${names} ${needy === 1 ? 'needs' : 'need'} a look.`
export const needALook = (names: string, number: number) => `${names} ${number === 1 ? 'needs' : 'need'} a look.`

// Table of boards (boards-table.ts)

export const boardsShown = 'Boards shown'
export const all = 'All'
export const notPlaying = 'Not playing'
export const needLook = 'Need a look'
export const as = 'As'
export const list = 'List'
export const grid = 'Grid'
export const staysListed = (name: string, thrown: string) => `${name} stays: ${thrown}`
export const someStillListIt = (failed: number) => ` ${many(failed, 'board')} could not be told and may still list it.`
export const isDismissed = (name: string, kept: string) =>
  `${name} is dismissed. It is found again when it answers.${kept}`
export const noBoardMatches = 'No board matches'
export const areHidden = (all: string) => `${all} are hidden.`
export const onlyBoardSoFar = 'Only this board so far'
export const whereOthersAre =
  'Others appear within seconds of their start. A board that is missing is in another network, or a switch in between blocks multicast (mDNS, UDP 5353).'
export const dismiss = (name: string) => `Dismiss ${name}`
export const legendPlaying = 'playing'
export const legendLosing = 'losing'
export const legendSilent = 'silent'
export const legendMuted = 'muted'
export const legendSourceSilent = 'source silent'
export const legendAway = 'away'

// Matrix (matrix-page.ts)

export const nextBoard = 'next board'
export const boardBefore = 'board before'
export const opensBoard = 'opens the board'
export const askingBoardWhichOthersHasFound = 'Asking this board which others it found'
export const boardsCouldNotBeRead = 'The boards could not be read'

// Answers of other boards (far-boards.ts)

export const hasAnotherPassword = 'It has another password than this board.'
export const hasNoAddressCanBeCalled = 'It has no address that can be called.'
export const answerIsNoStatus = 'the answer is not a status of a board'
export const answersWithoutState = 'It answers, but does not say how it is.'

// The routing matrix (routing.ts)

export const beingAskedWhatPlays = 'Being asked what it plays.'
export const routesAreNotTold = 'It does not say what it plays.'
export const doesNotAnswerBrowser = 'It does not answer this browser.'
export const notReachableSince = (since: string, age: string) => `Not reachable since ${since}, ${age}.`
export const nothingRouted = 'Nothing routed'
export const isNotHeard = (what: string) => `${what} is not heard.`
export const isMuted = 'It is muted.'
export const begins = (what: string) => `${what} begins.`
export const notHeardUnknownWhy = (what: string) => `${what} is not heard, and it does not say why.`
export const packetsAreLost = (what: string) => `${what}, packets are lost.`
export const beReached = 'be reached'
export const forAnotherPassword = 'for another password'
export const look = 'a look'
export const nothingButSilence = 'nothing but silence'
export const beingAsked = 'being asked'
export const noDecoderIsRoutedToStream = 'No decoder is routed to a stream.'
export const routedPlay = (playing: string, routed: string, number: number) =>
  `${playing} of ${routed} routed ${number === 1 ? 'decoder plays' : 'decoders play'}.`

// Crosspoints (routing-grid.ts)

export const nowPlays = (name: string, source: string) => `${name} now plays ${source}.`
export const isStopped = (name: string) => `${name} is stopped.`
export const playsWhatPlayedBefore = (name: string) => `${name} plays what it played before.`
export const didNotAnswer = 'It did not answer, so it is not known whether this took effect. It is asked again.'
export const answeredWithoutReason = (status: number) => `It answered ${status} without a reason.`
export const keyToCrosspoints = 'to the crosspoints; arrows walk them'
export const keyRoutes = 'routes, or asks why'
export const whyIsSilent = 'why it is silent'
export const keyMute = 'mutes the decoder, and lets it be heard again'
export const n1DbUp = '1 dB up'
export const n1DbDown = '1 dB down'
export const stopsDecoder = 'stops the decoder'
export const keyTypedName = 'typing jumps to a name; with Shift where the letter is a key'
export const nothingToHear = 'nothing to hear'
export const notReachable = 'not reachable'
export const routingNotReachable = (name: string) => `${name}, not reachable`
export const crosspointAndWord = (source: string, name: string, word: string) => `${source} to ${name}: ${word}`
export const silent = 'silent'
export const mute = (name: string) => `Mute ${name}`

// Panel of crosspoints (routing-panel.ts)

export const routing = 'Routing'
export const noNameMatches = 'No name here contains what you typed above.'
export const noDecoderWasFound = 'No decoder was found'
export const noBoardPlays = 'Streams are sent, but no board of this network plays any.'
export const noEncoderWasFound = 'No encoder was found'
export const encodersAppearElse =
  'Encoders appear within seconds of their start. A decoder plays other streams from its own page.'

// A crosspoint opened (routing-pop.ts)

export const crosspoint = (source: string, name: string) => `${source} to ${name}: `
export const isSilent = (name: string) => `${name} is silent`
export const routingIsMuted = (name: string) => `${name} is muted`
export const isNotReachable = (name: string) => `${name} is not reachable`
export const routingIsNotReachable = 'is not reachable'
export const doesNotSayHowLoud = 'it does not say how loud'
export const sourceAndLevel = (from: string, isGone: boolean, level: string) =>
  `${from}, ${isGone ? 'no answer' : level}`
export const db = (volumeDb: string) => `${volumeDb} dB`
export const muted = 'Muted'
export const routingMute = 'Mute'
export const noOtherStreamWasFound = 'No other stream was found'
export const encodersAppear = 'Encoders appear within seconds of their start.'
export const findStream = 'Find a stream'
export const stream = 'a stream'
export const routingNotReachable2 = ', not reachable'
export const passwordOf = (name: string) => `Password of ${name}`
export const playsSource = (name: string, source: string) => `${name} plays ${source}`
export const sourceSends = 'sends'
export const silence = 'silence'
export const anotherStream = 'another'

// Chain of checks (sound-words.ts)

export const input = 'Input'
export const level = 'Level'
export const clock = 'Clock'
export const sending = 'Sending'
export const announced = 'Announced'
export const soundStream = 'Stream'
export const packets = 'Packets'
export const sender = 'Sender'
export const format = 'Format'
export const master = 'Master'
export const loss = 'Loss'
export const volume = 'Volume'
export const output = 'Output'
export const notJudged = 'not judged'
export const namesNoClock = 'it names no clock'
export const ownClock = (mac: string) => `its own clock, ${mac}`
export const ptpDomain = (grandmaster: string, domain: number) => `PTP ${grandmaster}, domain ${domain}`

// Routes, loudness, clock (own-sound.ts)

export const ownPlaysWhatPlayedBefore = 'It plays what it played before.'
export const grandmaster = 'Grandmaster'
export const ownBoard = ' (this board)'
export const priority1 = 'Its priority 1'
export const boards = (priority1: number, own: number) => `${priority1}; this board's ${own}`
export const ownBoards = (priority1: number) => `this board's ${priority1}`
export const domain = 'Domain'
export const offset = 'Offset'
export const pathDelay = 'Path delay'
export const rate = 'Rate'
export const jumps = 'Jumps'
export const clockSince = (since: string) => `since ${since}`

// Decoder (decoder-page.ts)

export const fewer = 'Fewer'
export const streamsCouldNotBeRead = 'The streams could not be read'
export const askingBoardWhichStreamsHears = 'Asking the board which streams it hears'
export const noStreamsHeard = (value: string) => `No streams heard${value}`
export const encodersAnnounce =
  'Encoders announce themselves every 30 s; check that this switch port carries multicast.'
export const noStreamMatches = 'No stream matches'
export const decoderNowPlays = (name: string) => `Now plays ${name}.`
export const stop = (name: string) => `Stop ${name}`
export const play = (name: string) => `Play ${name}`
export const playing = 'Playing'
export const routedNotPlaying = 'Routed, not playing'
export const cannotBePlayed = 'Cannot be played'
export const notPlayed = 'Not played'
export const asAnnouncedElseL24 = 'as announced, else L24'
export const group = 'Group'
export const port = 'Port'
export const any = 'any'
export const encoding = 'Encoding'
export const decoderDb = `dB · `
export const noChannelPlays = 'No channel plays'
export const mutesAndPlaysAgain = 'mutes, and plays again'
export const toStreamsEnterPlays = 'to the streams; Enter plays one'
export const stops = 'stops'
export const nothingIsPlayedNow = 'Nothing is played now.'
export const lost = 'Lost'
export const concealed = 'Concealed'
export const late = 'Late'
export const reordered = 'Reordered'
export const duplicate = 'Duplicate'
export const glitches = 'Glitches'
export const fromOtherSenders = 'From other senders'
export const inAnotherFormat = 'In another format'
export const wildTimestamps = 'With impossible timestamps'
export const malformed = 'Malformed'
export const jitter99 = 'Jitter, 99 %'
export const jitterWorst = 'Jitter, worst'
export const latencyOfCard = 'Latency of the card'
export const driftOfCard = 'Drift of the card'

// Encoder (encoder-page.ts)

export const noInput = 'No input'
export const sdpIsCopied = 'The SDP is copied.'
export const inputGoesOutAgain = 'The input is sent again.'
export const toneGoesOut = 'A tone of 997 Hz is sent in place of the input.'
export const copiesSdp = 'copies the SDP'
export const sendsToneAndInputAgain = 'sends a tone, and the input again'
export const stopTone = (age: string) => `Stop the tone, ${age}`
export const sendTone = 'Send a tone'
export const n48Khz = (stream: string, THIN: string) => `${stream}, 48${THIN}kHz`
export const msType = (packet_ms: number, THIN: string, payload_type: number) =>
  `${packet_ms}${THIN}ms, type ${payload_type}`
export const dscpTtl = 'DSCP, TTL'
export const notBySap = 'not by SAP'
export const rtsp = 'RTSP'
export const notByRtsp = 'not by RTSP'
export const notSent = 'Not sent'
export const restartsAfterJump = 'Restarted after a jump of the clock'
export const spacing99 = 'Spacing, 99 %'
export const spacingWorst = 'Spacing, worst'
export const latencyOfInput = 'Latency of the input'
export const bySap = (when: string) => `SAP${when}`

// Boards that play a stream (heard-by.ts)

export const askingDecodersWhatTheyPlay = 'Asking the decoders what they play'
export const foundOnesAreAsked = 'Asking those that this board has found.'
export const noDecoderOfNetworkPlays = 'No decoder of this network plays it'
export const othersAreNotCounted = 'Receivers of other makers cannot be asked and are not counted.'

// Plots (sound-plots.ts)

export const packetArrival = 'Packet arrival'
export const arrivalUnit = 'last hour, ms after sending'
export const latestNow = 'latest now'
export const packetSpacing = 'Packet spacing'
export const lastHour = 'last hour'
export const askingBoardForHistory = 'Asking the board for its history'
export const historyIsBrief = 'One hour, 3 600 samples. This usually takes less than a second.'
export const historyCouldNotBeRead = 'The history could not be read'
export const nothingWasMeasuredInHour = 'Nothing was measured in this hour'
export const isDrawnAsSoon = 'It is drawn as soon as there is something.'
export const clockAgainstGrandmaster = 'Clock against grandmaster'
export const arrivalSpoken = (earliest: string, linkMs: number) =>
  `Arrival of packets in the last hour, ${earliest} ms after sending; the limit is ${linkMs} ms`
export const linkOffsetMs = (linkMs: number) => `link offset ${linkMs} ms`
export const spacingSpoken = (middle: string) => `Distance between packets in the last hour, ${middle} ms`
export const clockSpoken = (offset: string) => `Clock against the grandmaster in the last hour, ${offset} ns`
export const latest = 'latest'
export const earliest = 'earliest'
export const middle = 'middle'
export const lostTrace = 'lost'
export const worst = 'worst'
export const offsetTrace = 'offset'
export const between = (least: string, most: string) => `between ${least} and ${most}`

// Serial (serial-page.ts)

export const notShared = 'not shared'
export const hasErrors = 'has errors'
export const open = 'open'
export const notPlugged = 'not plugged in'
export const willNotOpen = 'will not open'
export const isBeingOpened = 'is being opened'
export const serialPort = (port: number) => `Port ${port}`
export const rfc2217 = 'RFC 2217'
export const allWrite = 'all write'
export const firstWritesOthersRead = 'the first writes, others read'
export const firstWritesAlone = 'the first to write writes alone until it leaves'
export const framingError = 'framing error'
export const framingErrors = 'framing errors'
export const framingMeans = (port: string) =>
  `The other end does not send at ${port}: compare baud rate, data bits and stop bits.`
export const parityError = 'parity error'
export const parityErrors = 'parity errors'
export const parityMeans = (parity: string) =>
  `The other end does not send with parity ${parity}: compare parity and data bits.`
export const overrunMeans = 'Bytes came faster than they were read: use flow control or a lower baud rate.'
export const clientWasDropped = 'client was dropped'
export const clientsWereDropped = 'clients were dropped'
export const slowClientMeans = 'It was too slow to take what the line sent: check its network and its program.'
export const connectionWasRefused = 'connection was refused'
export const connectionsWereRefused = 'connections were refused'
export const wereTooManyAtOnce = 'There were too many at once.'
export const refusedMeans = (allow: string) => `Allowed are ${allow}; the journal shows who tried.`
export const bytesFromLine = 'Bytes from the line'
export const bytesToLine = 'Bytes to the line'
export const bytesNotPassed = 'Bytes not passed on'
export const clientsSoFar = 'Clients so far'
export const clientsNow = 'Clients now'
export const telnetMessagesNotUnderstood = 'Telnet messages not understood'
export const line = (port: number, name: string) => `Line ${port}, ${name}`
export const edit = (name: string) => `Edit ${name}`
export const serialIn = 'In'
export const out = 'Out'
export const allowed = (allow: string) => `Allowed: ${allow}.`
export const everyAddressMayConnect = 'Every address may connect.'
export const readsOnly = 'reads only'
export const serialRfc2217 = ' · RFC 2217'
export const drop = (address: string) => `Drop ${address}`
export const none = 'None'
export const odd = 'Odd'
export const even = 'Even'
export const mark = 'Mark'
export const allMayWrite = 'All may write'
export const firstWrites = 'The first writes, others read'
export const whoWritesFirstAlone = 'The first to write, alone'
export const settingsOf = (name: string) => `Settings of ${name}`
export const discards = 'discards'
export const isSaved = (label: string) => `${label} is saved.`
export const shareLine = 'Share this line'
export const mode = 'Mode'
export const rawBytes = 'Raw bytes'
export const label = 'Label'
export const labelHint = 'What is at the other end: Lift, Heat meters.'
export const rfc2217Hint = 'The client sets the line, as a COM port of its own.'
export const rawHint = 'Bytes as they are; the line is set here.'
export const tcpPort = 'TCP port'
export const severalClients = 'Several clients'
export const allowedAddresses = 'Allowed addresses'
export const allowExample = '10.20.4.0/24, fd00::7'
export const allowHint = 'Addresses and networks, separated by commas. Empty: every address.'
export const baudRate = 'Baud rate'
export const dataBits = 'Data bits'
export const parity = 'Parity'
export const stopBits = 'Stop bits'
export const flowControl = 'Flow control'
export const savingEndsConnections = 'Applied at once and saved. Connections that no longer fit are ended.'
export const savingKeepsClients = 'Applied at once and saved. Clients stay connected.'
export const askingBoardForLines = 'Asking the board for its lines'
export const linesCouldNotBeRead = 'The lines could not be read'
export const noLineToShare = 'No line to share'
export const wasDropped = (address: string, port: string) => `${address} was dropped from ${port}.`
export const serialDrop = (address: string) => `Drop ${address}?`
export const droppingMeans = (port: string) =>
  `Its connection to ${port} ends at once. It may connect again, unless the list of allowed addresses keeps it out.`
export const serial = 'Serial'
export const serialLine = (number: number) => `line ${number}`
export const editsLineWithFocus = 'edits the line with the focus'
export const keyDropsClient = 'drops a client of the line with the focus, asks first'
export const writes = 'writes'

// USB/IP (usbip-page.ts)

export const beingPrepared = 'being prepared'
export const waitsForHost = 'waits for a host'
export const beingHandedOver = 'being handed over'
export const hostHas = 'a host has it'
export const beingFreed = 'being freed'
export const beingGivenBack = 'being given back'
export const cannotBeShared = 'cannot be shared'
export const has = (address: string) => `${address} has it`
export const boardsNetwork = "this board's network"
export const diskBoardUses = 'a disk this board uses'
export const firstIsPlugged = 'The first that is plugged in'
export const usbipNotPlugged = (choice: string) => `${choice}, not plugged in`
export const deviceIsShared = 'The device is shared.'
export const deviceIsNotShared = 'The device is not shared.'
export const shareDevice = 'Share the device'
export const keptForDaySystemCan = 'Kept until this system can share it.'
export const device = 'Device'
export const losesDeviceAtOnce = (address: string) => `${address} loses the device at once.`
export const appliedAtOnceAndSaved = 'Applied at once and saved.'
export const detachesHostAsksFirst = 'detaches the host, asks first'
export const copiesHostsCommand = "copies the host's command"
export const commandForLinuxIsCopied = 'The command for Linux is copied.'
export const askingBoardForDevice = 'Asking the board for its device'
export const deviceCouldNotBeRead = 'The device could not be read'
export const nobodyHas = 'Nobody has it.'
export const sharingIsOff = 'Sharing is off.'
export const nothingToShare = 'Nothing is plugged in that could be shared.'
export const isNotPlugged = (choice: string) => `${choice} is not plugged in.`
export const noDevice = 'No device'
export const heldOff = (age: string) => `held off for ${age}`
export const usbipDevice = 'the device'
export const host = 'The host'
export const wasTaken = (name: string, host: string) => `${name} was taken from ${host}.`
export const takeFrom = (name: string, host: string) => `Take ${name} from ${host}?`
export const takingMeans = (host: string) =>
  `What ${host} is doing with it fails, as if it were unplugged. It is held off for a while, so that it does not take the device back at once.`
export const maker = 'Maker'
export const product = 'Product'
export const serialNumber = 'Serial number'
export const kind = 'Kind'
export const speed = 'Speed'
export const pluggedIn = 'Plugged in at'
export const copyCommand = (name: string) => `Copy the command for ${name}`
export const commandForIsCopied = (name: string) => `The command for ${name} is copied.`
export const linux = 'Linux'
export const windows = 'Windows'
export const lastError = (since: string) => `Last error, ${since}`

// Settings (settings-page.ts)

export const askingBoardForSettings = 'Asking the board for its settings'
export const settingsCouldNotBeRead = 'The settings could not be read'
export const multicastAddress = 'Multicast address'
export const channels = 'Channels'
export const packetTime = 'Packet time'
export const soundCard = 'Sound card'
export const linkOffset = 'Link offset'
export const moreFromOutside = 'More from outside'
export const ptpPriority1 = 'PTP priority 1'
export const announceOverSap = 'Announce over SAP'
export const fixedAddress = 'Fixed address'
export const mask = 'Mask'
export const gateway = 'Gateway'
export const nameServers = 'Name servers'
export const serialDevicesMeans = 'Devices of ports 1 to 4'
export const nothingIsChanged = 'Nothing is changed.'
export const restartsMachine = 'restarts the machine'
export const savingTurns = (restarts: string, noun: string) =>
  `Saves, ${restarts}, and is ${noun} then. What it does in its present role ends.`
export const savingRestarts = (restarts: string, hasSound: boolean) =>
  `Saves and ${restarts}; ${hasSound ? 'it is silent' : 'connections end'} for that long.`
export const savingKeepsNetwork = (moves: string) =>
  `Saves and restarts. ${moves} is kept; this machine's network is set elsewhere.`
export const savingMoves = (restarts: string, ip: string) =>
  `Saves, ${restarts} and moves to ${ip}; this page follows. If nobody reaches it there within two minutes, it goes back to the fixed address before, or to DHCP.`
export const savingRenames = (restarts: string) => `Saves and ${restarts}; this page follows to the new name.`
export const saved = 'Saved.'
export const discarded = (changed: number) => `${many(changed, 'change')} discarded.`
export const ctrlS = 'Ctrl S'
export const savesAndRestarts = 'saves and restarts'
export const notSaved = ', not saved'
export const turnInto = (name: string, after: string) => `Turn ${name} into ${after}?`
export const turningMeans = (before: string, owned: boolean) =>
  `It stops what it does as ${before} and restarts${owned ? ', with its whole machine' : ''}. The settings of its present role are kept for when it returns to it.`
export const settingsTurnInto = (after: string) => `Turn into ${after}`
export const keep = (before: string) => `Keep ${before}`
export const restartsOnly = 'restarts'
export const theNewAddress = 'the new address'
export const someChanged = (number: number) => `${number} changed`

// Firmware (firmware-page.ts)

export const sendingWasStopped = 'Sending was stopped.'
export const connectionWasCut = 'The connection was cut before the board answered.'
export const sent = 'Sent'
export const verified = 'Verified'
export const installed = 'Installed'
export const restarted = 'Restarted'
export const runningVersionIsUntouched = 'The running version is untouched.'
export const picksImage = 'picks an image'
export const firmwareInstalled = 'Installed.'
export const imageIsSentElsewhere = 'An image is being sent from somewhere else.'
export const oneAtATime = (much: string) =>
  `${much} have arrived. Only one image at a time; this page continues after it.`
export const versionRuns = (version: string) => `Version ${version} runs.`
export const firmwareSending = (name: string) => `Sending ${name}.`
export const staysUntilRestart = (running: string) => `${running} It stays until the restart.`
export const checking = (name: string) => `Checking ${name}.`
export const installedBoardRestarts = 'Installed. The board restarts.'
export const pageContinues = 'This page continues by itself.'
export const wasNotInstalled = (name: string) => `${name} was not installed.`
export const versionRunsSinceRestart = (version: string) => `Version ${version} runs since the restart.`
export const boardTakesNoImageYet = 'This board takes no image yet.'
export const fellBack = (runs: string) => `The last update failed; version ${runs} runs again.`
export const whyFellBack = (version: string | null, why: string) =>
  `Version ${version ?? '(not known)'} was taken back, as ${why}. Settings are as they were.`
export const onTrial = (why: string | null) =>
  why === null
    ? 'It was installed just now. It stays if everything is well for a minute; else the version before starts again.'
    : `The version before starts again: ${why}.`
export const lastImageFailed = (message: string, untouched: string) =>
  `The last image was not installed: ${message} ${untouched}`

// System (system-page.ts)

export const nothingToShowInRole = 'Nothing to show in this role'
export const silentRoleText =
  'Settings, firmware, system and the matrix work as on every board. Another role is chosen in the settings.'
export const typeNewPasswordFirst = 'Type the new password first.'
export const passwordIsSetUserName = 'The password is set. The user name is admin.'
export const passwordIsRemoved = 'The password is removed.'
export const setForUserAdmin = 'set, for the user admin'
export const newPassword = 'New password'
export const passwordReplaces = 'Replaces the present one everywhere at once.'
export const noPasswordMeans = 'Until there is one, everybody on this network can change this board.'
export const changePassword = 'Change password'
export const setPassword = 'Set password'
export const restartsBoardAsksFirst = 'restarts the board, asks first'
export const boardIsHotC = (temperature: string) => `The board is hot: ${temperature} °C.`
export const hotMeans = (hotC: number) => `From ${hotC} °C on it may slow down. Give it air, or keep the sun off.`
export const clockIsOff = (age: string, aheadMs: number) =>
  `This board's clock is ${age} ${aheadMs > 0 ? 'behind' : 'ahead of'} this browser's.`
export const noTimeServer = 'It has not found a time server; check that it reaches one.'
export const oneClockIsWrong = 'One of the two is wrong; times in the journal are the board’s.'
export const onlyOfMemoryAreFree = (available_bytes: string) => `Only ${available_bytes} of memory are free.`
export const ofMemory = (total_bytes: string) => `Of ${total_bytes}.`
export const hasRun = (name: string, age: string) => `${name} has run for ${age}.`
export const trueMeans = 'set by a time server'
export const falseMeans = 'not set by a time server'
export const nullMeans = 'not known whether it is right'
export const time = 'Time'
export const temperature = 'Temperature'
export const noSensorTells = 'no sensor that tells it'
export const ofProcessor = 'of the processor'
export const memoryUsed = 'Memory used'
export const memoryFree = (available_bytes: string, total_bytes: string) => `${available_bytes} of ${total_bytes} free`
export const load = 'Load'
export const over15Min = (perQuarter: string) => `${perQuarter} over 15 min`
export const noAddress = 'No address'
export const noInterfaceIsReachable = 'No interface has one that others could reach.'
export const systemHost = 'Host'
export const version = 'Version'
export const machine = 'Machine'
export const started = 'Started'
export const blinksLampAndSays = 'Blinks its lamp and says so on its pages.'
export const restartMeans = 'Connections end for that long; settings stay.'
export const factoryReset = 'Factory reset'
export const resetMeans = 'Forgets every setting and the password.'
export const systemRestart = 'Restart.'
export const systemRestart2 = (name: string) => `Restart ${name}?`
export const everythingIsForgotten = 'Everything is forgotten.'
export const reset = (name: string) => `Reset ${name}?`
export const noPassword = 'none'
