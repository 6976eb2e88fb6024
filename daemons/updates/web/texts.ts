/** What the panel says, sorted by the file that says it. */
import { counted } from '#kit/pure/text.ts'

// state.ts

export const role = 'Update server'
export const wrongPassword =
  'The password is wrong. It was printed at the first start; plantroom password updates sets another.'
export const sessionEnds =
  'A session ends after 24 hours, however much it is used, and with every change of the password.'

// app.ts

export const installations = 'Installations'
export const updates = 'Updates'
export const artifacts = 'Artifacts'
export const audit = 'Audit'
export const settings = 'Settings'
export const askingServer = 'Asking the update server'
export const installHint = 'To install the latest version on a new machine:'
export const installCommand = (origin: string) => `curl -fsSL ${origin}/install.sh | sudo sh`
export const version = (text: string) => `Version ${text}`
export const waiting = (many: number) => `${many} ${many === 1 ? 'waits' : 'wait'}`
export const halted = 'Halted'
export const isHalted = (release: string) => `${release} is halted`
export const enabledShort = (many: number) => `${many} enabled`

// words.ts
export const imageFor = (version: string, compatible: string) => `${version} for ${compatible}`

export const justNow = 'just now'
export const ago = (age: string) => `${age} ago`
export const unnamed = (id: string) => `Unnamed ${id}`
export const waits = 'Waits'
export const enabled = 'Enabled'
export const disabled = 'Disabled'
export const atStep = (step: string) => `, at ${step}`
export const applied = (release: string, ago: string) => `${release} applied ${ago}`
export const rolledBack = (release: string, ago: string) => `${release} rolled back ${ago}`
export const failed = (release: string, ago: string) => `${release} not applied ${ago}`
export const fetched = (release: string, ago: string) => `${release} fetched ${ago}, nothing reported yet`
export const waitForEnabling = (many: number) =>
  many === 1 ? 'A new installation waits to be enabled.' : `${many} new installations wait to be enabled.`
export const untilThen = (many: number) =>
  `${many === 1 ? 'It gets' : 'They get'} nothing from here before you enable ${many === 1 ? 'it' : 'them'}.`
export const disabledShort = (many: number) => `${many} disabled`
export const othersAre = (known: string) => `Already known: ${known}.`
export const noneYet = 'No installation has registered here yet.'
export const areEnabled = (many: number) =>
  `${counted(many, 'installation')} ${many === 1 ? 'gets' : 'get'} updates from here.`
export const areDisabled = (many: number) => `${many} more ${many === 1 ? 'is' : 'are'} disabled.`
export const withdrawn = 'Withdrawn'
export const installerOnly = 'Installer only'
export const held = 'Held here'
export const offeredToNobody = 'Offered to nobody'
export const offeredTo = (percent: number) => `Offered to ${percent} %`
export const offered = 'Offered'
export const nobodyFetched = 'fetched by nobody yet'
export const reach = (fetched: number, applied: number, failed: number) =>
  `fetched by ${fetched}, applied by ${applied}${failed > 0 ? `, failed at ${failed}` : ''}`
export const nothingPublished = 'No update is published yet.'
export const areHalted = (versions: string, many: number) =>
  `${versions} ${many === 1 ? 'is' : 'are'} halted: too many installations reported a failure.`
export const haltedMeans = 'It is offered to nobody until you offer it again. Open it to see where it failed and why.'
export const failedAt = (release: string, many: number) => `${release} failed at ${counted(many, 'installation')}.`
export const failedMeans = 'Open it to see where and why. Withdraw it if others would fail too.'
export const everybodyHeld = (release: string) => `Everybody is held at ${release}.`
export const heldMeans = 'Nobody is offered anything above it.'
export const noStable = 'Nothing is offered to the stable channel.'
export const newestIs = (release: string, percent: number) =>
  percent < 100 ? `${release} is offered to ${percent} % of the installations.` : `${release} is offered to everybody.`
export const hashBegins = (hash: string) => `recorded, ${hash}…`
export const hashMissing = 'missing'

// installations-page.ts

export const nextRow = 'next row'
export const rowBefore = 'row before'
export const askingInstallations = 'Asking for the installations'
export const installationsNotRead = 'The installations could not be read'
export const all = 'All'
export const waitingOnes = 'Waiting'
export const showOnly = 'Show only'
export const filterInstallations = 'Filter installations'
export const filterHint = 'Name, id, version, address'
export const nowEnabled = (many: number) =>
  `${counted(many, 'installation')} enabled: updates are offered from the next check on.`
export const nowDisabled = (many: number) =>
  `${counted(many, 'installation')} disabled: nothing is sent there any more.`
export const chosen = (many: number) => `${many} chosen`
export const enable = 'Enable'
export const disable = 'Disable'
export const enableChosen = 'Enable those chosen'
export const disableChosen = 'Disable those chosen'
export const choose = (name: string) => `Choose ${name}`
export const enableNamed = (name: string) => `Enable ${name}`
export const versionUnknown = 'version not told'
export const isOffered = (release: string) => `, ${release} is offered`
export const newOne = (ago: string, address: string) => `New, waits to be enabled. Came ${ago} from ${address}`
export const noUpdateYet = 'No update yet'
export const noneMatches = 'No installation matches'
export const howToSeeAll = 'Clear the filter, or choose All.'
export const shownOf = (shown: number, total: number) => `${shown} of ${total}`
export const searchForOthers = 'Filter to find the others.'
export const connectAnother = 'Connect another installation'
export const noneRegistered = 'No installation has registered'
export const newMachine = 'On a new machine, this installs the latest version:'
export const runningMachine =
  'On a machine that runs Plantroom, this goes into /etc/plantroom/update.toml, and plantroom update --check asks:'
export const updateUrl = (origin: string) => `update_url = "${origin}"`
export const thenItWaits = 'At its first check it appears here and waits. It gets nothing before you enable it.'
export const commandIsCopied = 'The command is copied.'
export const settingIsCopied = 'The setting is copied.'
export const copyCommand = 'Copy the command'
export const copySetting = 'Copy the setting'

// installation-panel.ts

export const installation = 'Installation'
export const noSuchInstallation = 'There is no installation of this id'
export const itWasForgotten =
  'One that waited and did not ask for long is forgotten. It comes back with its next check.'
export const lastUpdates = 'Last updates'
export const whatItTold = 'What it told'
export const name = 'Name'
export const nameHint = 'Where it stands, in your words.'
export const nameExample = 'Harbour House, plant room'
export const channel = 'Channel'
export const channelHint = 'Beta gets beta and stable releases.'
export const asItAsks = (channel: string) => `As it asks: ${channel}`
export const channelNames = { stable: 'Stable', beta: 'Beta' } as const
export const getsUpdates = 'Gets updates'
export const pendingHint = 'It is new. Compare its id with the one that the machine shows.'
export const save = 'Save'
export const installationIsSaved = (name: string) => `${name} is saved.`
export const whenItFetches = 'What it fetches appears here, and what came of it once it has reported.'
export const notOfferedAgain = (versions: string) =>
  `It rolled back from ${versions}, and is not offered that again until you say so.`
export const offerAgain = 'Offer again'
export const areOfferedAgain = (versions: string) => `${versions} may be offered to it again.`
export const id = 'Id'
export const idIsCopied = 'The id is copied.'
export const copyId = 'Copy id'
export const runs = 'Version'
export const build = 'Build'
export const takesImagesFor = 'Takes images for'
export const architecture = 'Architecture'
export const wouldGet = 'Would be offered'
export const nothing = 'nothing'
export const lastSeen = 'Last seen'
export const registered = 'Registered'

// releases-page.ts

export const askingReleases = 'Asking for the updates'
export const releasesNotRead = 'The updates could not be read'
export const noSuchRelease = (version: string) => `There is no update ${version}`
export const itWasDeleted = 'It was deleted, or never published.'
export const toUpdates = 'All updates'
export const publishCommand = (origin: string) => `plantroom publish --server ${origin} --update-key-file FILE`
export const firstIsPublished = 'The first one is published by a command'
export const howToPublish = 'In a built checkout, with the update key in a file:'
export const noKeyYet = 'There is no update key yet.'
export const makeKeyThere = 'Make one under Settings.'
export const thenItIsOffered = 'It is offered from then on to every enabled installation of its channel.'

export const beingPublished = 'Being published'
const kinds: Readonly<Record<string, string>> = {
  update: 'Update',
  installer: 'Installer',
  image: 'Image',
  delta: 'Delta to',
}
export const publishOf = (kind: string, version: string) => `${kinds[kind] ?? kind} ${version}`
export const progressOfPublish = (kind: string, version: string) => `Progress of ${kind} ${version}`
export const publishedSoFar = (bytes: string) => `${bytes} so far`
export const publishedOf = (bytes: string, of: string) => `${bytes} of ${of}`

// release-panel.ts

export const whoMetIt = 'Installations'
export const updateFile = 'Update'
export const installerFile = 'Installer'
export const deltaFiles = 'Deltas'
export const deltaFrom = (version: string) => `From ${version}`
export const deltaSize = (size: string, percent: number) =>
  `${size}, ${percent < 1 ? 'less than 1' : Math.round(percent)} % of the update`
export const imageFile = 'Firmware image'
export const forBoards = (compatible: string) => `for ${compatible}`
export const releaseIsSaved = (version: string) => `${version} is saved.`
export const releaseChannelHint = 'A beta release goes to installations of the beta channel alone.'
export const share = 'Share'
export const shareHint = 'Of the installations, the same ones when it grows. 0 offers it to nobody.'
export const holdHere = 'Hold everybody here'
export const holdHint = (version: string) => `Then nobody is offered anything above ${version}.`
export const isOfferedAgain = (version: string) => `${version} is offered again.`
export const isWithdrawn = (version: string) =>
  `${version} is withdrawn: nobody is offered it, and downloads of it end.`
export const offeredMeans = 'It is offered.'
export const haltedHere = 'Halted after failures: offered to nobody.'
export const withdrawnMeans = 'Withdrawn: offered to nobody.'
export const withdraw = 'Withdraw'
export const deleteIt = 'Delete'
export const deleteQuestion = (version: string) => `Delete ${version}?`
export const deletingMeans =
  'Its update, its deltas and its installer go from the disk, and cannot be brought back. Whoever asks for it is told that it is gone. To stop a rollout, withdrawing is enough.'
export const deleteRelease = 'Delete release'
export const keepRelease = 'Keep release'
export const isDeleted = (version: string) => `${version} is deleted.`
export const nobodyYet = 'Nobody has fetched it'
export const nobodyYetMeans = 'Who fetches it appears here, and what came of it.'
export const andMore = (many: number) => `And ${many} more.`
export const fileName = 'File'
export const size = 'Size'
export const published = 'Published'
export const bundleHash = 'Bundle hash'
export const hashMissingMeans = 'missing: it was published without X-Svc-Bundle-Hash'
export const signature = 'Signature'
export const isSigned = 'Signed; installations prove it'
export const isUnsigned = 'Not signed'

// artifact-uploads.ts

export const uploadWasCut = 'The connection was cut, and nothing of it is kept. Try again.'
export const sessionHadEnded = 'The session had ended. Sign in, and try again.'
export const nameIsTaken = 'There is one of this name already. It stays as it is unless you replace it.'
export const isNoJson = (name: string) => `${name} is no .json file.`
export const isTooLarge = (name: string, size: string, most: string) =>
  `${name} has ${size}; at most ${most} are taken.`

// artifacts-page.ts

export const typeShort = { command_set: 'Commands', web_service: 'Services', database_artifact: 'Database' } as const
export const typeName = {
  command_set: 'Command set',
  web_service: 'Web service',
  database_artifact: 'Database artifact',
} as const
export const typeHints = {
  command_set: 'A device definition; it is held to all that a controller holds it to.',
  web_service: 'An object with a name, and the url of the service.',
  database_artifact: 'An object with a name.',
} as const
export const uploadKey = 'upload'
export const askingArtifacts = 'Asking for the artifacts'
export const artifactsNotRead = 'The artifacts could not be read'
export const artifactsAre = (many: number) =>
  many === 0 ? 'There are no artifacts yet.' : `${counted(many, 'artifact')} can be taken over.`
export const whoTakesThem = 'Every enabled installation finds them by type, tag and words.'
export const filterArtifacts = 'Filter artifacts'
export const filterArtifactsHint = 'Name, file, tag'
export const noArtifacts = 'No artifacts'
export const whatArtifactsAre =
  'Command sets, web services and database artifacts are files of JSON that installations take over. Upload the first one.'
export const noArtifactMatches = 'No artifact matches'
export const artifactIsDeleted = (filename: string) => `${filename} is deleted.`
export const deleteNamed = (filename: string) => `Delete ${filename}`
export const deleteArtifactQuestion = (name: string) => `Delete ${name}?`
export const deletingArtifactMeans = 'Installations that have taken it over keep it. No other finds it here any more.'
export const deleteArtifact = 'Delete artifact'
export const keepArtifact = 'Keep artifact'
export const uploadArtifacts = 'Upload artifacts'
export const type = 'Type'
export const description = 'Description'
export const versionLabel = 'Version'
export const tags = 'Tags'
export const tagsHint = 'Separated by commas: lighting, roof.'
export const overwrite = 'Replace those of the same name'
export const overwriteHint = 'Else a file whose name is taken is refused.'
export const eachAtMost = (most: string) => `At most ${most} each.`
export const pickFiles = 'Pick files'
export const files = 'Files of JSON'
export const tooManyFiles = (left: number, most: number) =>
  `${counted(left, 'file')} were left out: at most ${most} are in the list. Pick them again when it is shorter.`
export const uploadsLabel = 'Uploads'
export const clearSent = 'Clear uploaded'
export const filesOpen = (many: number) => `${many} to go`
export const filesSent = (many: number) => `${many} uploaded`
export const filesRefused = (many: number) => `${many} refused`
export const waitsForOthers = 'Waits for those before it'
export const sentOf = (sent: string, of: string) => `${sent} of ${of}`
export const isChecked = 'Sent; it is being checked'
export const isUploaded = 'Uploaded'
export const replace = 'Replace'
export const replaceNamed = (filename: string) => `Replace ${filename}`
export const again = 'Try again'
export const againNamed = (filename: string) => `Try again with ${filename}`
export const progressOf = (filename: string) => `Progress of ${filename}`
export const dropNamed = (filename: string) => `Take ${filename} from the list`

// settings-page.ts

export const askingSettings = 'Asking for the settings'
export const settingsNotRead = 'The settings could not be read'
export const diskIsFull = 'Nothing can be published: the disk is full.'
export const diskIsFullMeans = (free: string, reserved: string) =>
  `${free} are free, ${reserved} stay free (storage.free_bytes). Delete updates that nobody needs.`
export const noUpdateKey = 'Nothing can be published: there is no update key.'
export const noUpdateKeyMeans = 'Make one, and give it to who publishes.'
export const canPublish = 'Updates can be published.'
export const diskHas = (free: string) => `${free} are free on the disk.`
export const updateKey = 'Update key'
export const keyIsSetting = 'It is a setting of the server, publishing.update_key, and is changed there.'
export const keyIsMade = 'One is in use. Only its hash is kept.'
export const keyIsMadeAt = (at: string) => `One is in use, made ${at}. Only its hash is kept.`
export const keyIsNone = 'There is none. Whoever publishes shows it to this server.'
export const makeKey = 'Make update key'
export const makeNewKey = 'Make a new one'
export const makeNewKeyQuestion = 'Make a new update key?'
export const makingNewKeyMeans =
  'The one in use ends at once: whoever publishes needs the new one. Releases stay as they are.'
export const makeNewKeySure = 'Make new key'
export const keepKey = 'Keep key'
export const shownOnce = 'This is the only time it is shown. The server keeps a hash of it alone.'
export const newUpdateKey = 'New update key'
export const howKeyIsUsed =
  'Write it into a file that only you can read; plantroom publish takes it with --update-key-file.'
export const keyIsCopied = 'The key is copied.'
export const copyKey = 'Copy key'
export const keptIt = 'I have kept it'
export const passwordHead = 'Password'
export const passwordNow = 'Password now'
export const newPassword = 'New password'
export const passwordHint = 'At least 8 characters. All other sessions end.'
export const changePassword = 'Change password'
export const passwordIsChanged = 'The password is changed, and all other sessions have ended.'
export const bounds = 'Bounds'
export const boundsAreSettings =
  'They are settings of the server, in updates.toml, and take effect with its next start.'
export const session = 'Session'
export const signOut = 'Sign out'
export const largestUpdate = 'Largest update or installer'
export const largestArtifact = 'Largest artifact'
export const sessionLasts = 'A session lasts'
export const fetchedFrom = 'Installers are fetched from'
export const asAskedFor = 'the address that was asked for'
export const haltsAt = 'A rollout is halted'
export const haltsNever = 'never by itself'
export const haltsAtPercent = (percent: number) => `at ${percent} % of reported failures`
export const applyHours = 'Updates are applied'
export const applyHoursFree = 'when installations want'
export const sentNow = 'Sent now'
export const sending = (updates: number, installers: number) =>
  `${counted(updates, 'update')}, ${counted(installers, 'installer')}`
export const ownVersion = 'Version of the server'
