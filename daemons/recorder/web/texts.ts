/** Texts of the recorder's pages, sorted by the file that says them. Text between the tags of a template stays there. */
import { count, listed, whole } from '#kit/web/numbers.ts'

// Everywhere (app.ts, state.ts)

export const role = 'Video recorder'
export const cameras = 'Cameras'
export const playback = 'Playback'
export const health = 'Health'
export const today = 'Today'
export const journal = 'Journal'
export const askingRecorder = 'Asking the recorder'
export const usuallyBrief = 'This usually takes less than a second.'
export const signedInAs = (name: string) => `Signed in as ${name}`
export const version = (number: string) => `Version ${number}`

// First run (first-run.ts)

export const userName = 'User name'
export const password = 'Password'
export const showPassword = 'Show the password'
export const atLeastCharacters = (least: number) => `At least ${least} characters.`
export const makeAdministrator = 'Make administrator'

// The first set-up (app.ts, set-up-page.ts)

export const setUp = 'Set-up'
export const setUpIsNotOver = 'The set-up is not over'
export const camerasAreNext = 'Disk and cameras come next; what is done stays done.'
export const recordingIsNext = 'A camera is added. Go on to see that its recording works.'
export const stepDisk = 'Disk'
export const stepCameras = 'Cameras'
export const stepRecording = 'Recording'
export const stepSeeing = 'Events'
export const footageGoesTo = (folder: string, free: string) => `Footage goes to ${folder}, where ${free} are free.`
export const diskNext = 'Name a folder on another disk if it should go there. Cameras come next.'
export const camerasAreThere = (names: string[]) => `${listed(names)} ${names.length === 1 ? 'is' : 'are'} added`
export const moreCameras = 'Add more, or go on to see that they are recorded.'
export const recordingWorks = (many: number) =>
  many === 1 ? 'The camera is recorded.' : `All ${count(many)} cameras are recorded.`
export const recordingWorksMeans =
  'Footage of the last two minutes is on the disk. What looks at the pictures comes next.'
export const someAreKept = (kept: number, all: number) =>
  all === 0
    ? 'No camera is added yet.'
    : `Footage of ${kept} of ${all} ${all === 1 ? 'camera' : 'cameras'} is on the disk.`
export const recordingWaits = 'This looks again every second. You may leave and come back.'
export const isOnDisk = 'Its footage is on the disk.'
export const isNotKept = 'No footage of it is kept, as it was chosen.'
export const endSetUp = 'End set-up'
export const goOnToEvents = 'Go on to events'
export const seeingMeans =
  'Motion needs nothing else and finds when something moved. All of this can be changed later, on the page Events.'

// Cameras in words (camera-words.ts)

const STATES = {
  off: 'Off since',
  connecting: 'Connecting since',
  starting: 'Connected, no picture since',
  recording: 'Recording since',
  lost: 'No contact since',
  refused: 'Password refused since',
  unsupported: 'Cannot be recorded since',
} as const
export const stateSince = (state: keyof typeof STATES, since: string) => `${STATES[state]} ${since}`
export const watchedSince = (since: string) => `Watched, not recorded, since ${since}`
export const nextTryIn = (age: string) => `Next try in ${age}.`
export const triedNow = 'It is tried now.'
export const refusedRemedy = 'Edit it, and type the user and password that its own page takes.'
export const unsupportedRemedy = 'Set the camera to H.264 on its own page.'
export const sizeAndRate = (size: string, rate: string) => `${size}, ${rate} pictures a second`
export const notRecorded = (names: string, many: number, recording: number, all: number) =>
  `${names} ${many === 1 ? 'is' : 'are'} not recorded.${all === 1 ? '' : ` ${recording} of ${all} ${recording === 1 ? 'is' : 'are'}.`}`
export const allAreOff = 'Every camera is switched off. Nothing is recorded.'
export const someBegin = (recording: number, all: number) =>
  `${recording} of ${all} ${recording === 1 ? 'is' : 'are'} recorded; the others begin.`
export const allAreRecorded = (all: number) =>
  all === 0 ? 'Nothing is recorded.' : all === 1 ? 'The camera is recorded.' : `${whole(all, 'cameras')} are recorded.`
export const onlyWatched = (names: string, many: number) =>
  `${names} ${many === 1 ? 'is' : 'are'} watched, and no footage of ${many === 1 ? 'it' : 'them'} is kept, as it was chosen.`
export const ofAllRecord = (recording: number, all: number) => `${recording} of ${all}`

// Live pictures (live-film.ts)

export const askingPicture = 'Asking for the picture.'
export const waitsForKey = 'The camera has sent no key frame yet. The picture begins with its next one.'
export const pictureBrokeOff = 'The picture broke off. It is asked for again.'
export const codecNotPlayed = (codec: string) =>
  `This browser cannot play the camera’s ${codec}. Set its second stream to H.264, or open the page in another browser.`
export const maskedLive = 'Single pictures without sound, with the privacy masks.'
export const askedAgain = (why: string) => `${why} It is asked again by itself.`

// The wall (wall-page.ts)

export const wall = 'Wall'
export const columns = 'Columns'
export const auto = 'Auto'
export const inColumns = (count: string) =>
  count === 'auto' ? 'as many columns as fit' : `${count} ${count === '1' ? 'column' : 'columns'}`
export const liveOf = (name: string) => `${name}, live`

// Plans of the site (plan-page.ts, plan-canvas.ts, plan-side.ts, plan-calibration.ts, plan-upload.ts)

export const plan = 'Plan'
export const askingPlans = 'Asking for the plans'
export const plansCouldNotBeRead = 'The plans could not be read'
export const noPlans = 'No plan yet'
export const howPlansBegin =
  'Send an image of the site as seen from above: a floor plan, a drawing, a picture from the air. Then put cameras on it.'
export const noPlanForYou = 'None of your cameras is on a plan'
export const askForPlan = 'An administrator makes plans, and puts cameras on them.'
export const planIsGone = 'This plan is not there any more'
export const itWasRemovedMeanwhile = 'Somebody has removed it, or has taken your cameras off it.'
export const planImageOf = (name: string) => `The plan ${name}`
export const planImageMissing = 'The image of this plan could not be shown.'
export const newPlan = 'New plan'
export const planName = 'Name of the plan'
export const planExample = 'Ground floor'
export const planImage = 'Image'
export const planImageHint = (bytes: string, pixels: number) =>
  `JPEG or PNG, at most ${bytes} and ${pixels} pixels on a side.`
export const chooseImage = 'Choose an image'
export const imageFirst = 'Choose an image first.'
export const imageTooLong = (has: string, most: string) =>
  `The file has ${has}; at most ${most} are taken. Save it smaller.`
export const replaceImage = 'Replace image'
export const sending = 'Sending'
export const planIsAdded = (name: string) => `${name} is added. Put cameras on it.`
export const imageIsReplaced = 'The image is replaced. Cameras went along; calibrations are to be made anew.'
export const planIsRenamed = (name: string) => `The plan is called ${name} now.`
export const planIsRemoved = (name: string) => `${name} is removed.`
export const removePlan = 'Remove plan'
export const removePlanQuestion = (name: string) => `Remove ${name}?`
export const removingPlanMeans = 'Its cameras are on no plan then, and their calibrations are lost. Recording goes on.'
export const keepPlan = 'Keep plan'
export const camerasOnPlan = 'Cameras on this plan'
export const noneOnPlan =
  'No camera is on this plan. Choose one below; it appears in the middle, from where you drag it.'
export const putOnPlan = 'Put on the plan'
export const chooseCamera = 'Choose a camera'
export const isOnOtherPlan = (name: string) => `${name} (on another plan)`
export const cameraIsPut = (name: string) =>
  `${name} is on the plan. Drag it to its place, and its end to where it looks.`
export const cameraIsMoved = (name: string) => `${name} is moved.`
export const cameraIsTakenOff = (name: string) => `${name} is off the plan.`
export const takeOffPlan = 'Take off the plan'
export const pinKeys = 'Arrow keys move it, with Shift further.'
export const turnOf = (name: string) => `Direction of ${name}`
export const turnKeys = 'Left and right turn it, up and down change how far it reaches; with Shift more.'
export const heading = 'Direction'
export const headingHint = 'Degrees clockwise: 0 is up on the plan, 90 to the right.'
export const hfov = 'Width of its picture'
export const range = 'Reach'
export const pixelsUnit = 'px'
export const degreesUnit = '°'
export const aNumberFrom = (least: number, most: number) => `Type a number from ${least} to ${most}.`
export const howToMove = 'Drag a camera to move it, and the point at the end of its cone to turn it.'
export const howToAim = (name: string) => `Press on the plan to have ${name} look there.`
export const chooseToSee = 'Press a camera to see more of it.'
export const looksThere = (name: string) => `${name} looks there.`
export const looksAsFar = (name: string) => `${name} turned as far as it can, and does not reach this point.`
export const turnedLevel = (name: string) =>
  `${name} turned there. How high it hangs is not known, so it was not tilted.`
export const notCalibrated = 'Not calibrated: it is not known which place of its picture is where on the plan.'
export const calibrate = 'Calibrate'
export const calibratedByPoints = (fit: string) => `Calibrated by points. ${fit}`
export const calibratedByAiming = (degrees: string) =>
  `Calibrated by what it was aimed at: ${degrees}° off in the mean.`
const FITS = {
  well: (px: string) => `They fit well: ${px} px off in the mean.`,
  roughly: (px: string) => `They fit roughly: ${px} px off in the mean.`,
  badly: (px: string) => `They do not fit: ${px} px off in the mean. Look for one in the wrong place.`,
} as const
export const fitIs = (fitting: keyof typeof FITS, px: string) => FITS[fitting](px)
export const calibrationOf = (name: string) => `${name} on its plan`
export const pressInPicture = 'Press a place on the floor in the picture, such as the foot of a door.'
export const nowOnPlan = (at: number) => `Now press the same place on the plan: point ${at + 1}.`
export const morePoints = (many: number) =>
  many === 1 ? 'One more point is needed.' : `${count(many)} more points are needed.`
export const enoughPoints = 'That is enough to save. Points far apart, in the corners, make it exact.'
export const noMorePoints = (most: number) => `A camera has at most ${most} points.`
export const points = 'Points'
export const pointsInPicture = 'Points in the picture'
export const pointsOnPlan = 'Points on the plan'
export const pointNumber = (at: number) => `Point ${at + 1}`
export const addPoint = 'Add point'
export const removePoint = (at: number) => `Remove point ${at + 1}`
export const offBy = (px: string) => `${px} px off`
export const unsavedPoint = 'not saved'
export const pointsAreSaved = (fit: string) => `The calibration is saved. ${fit}`
export const pointsAreCleared = 'The calibration is cleared.'
export const clearCalibration = 'Clear'
export const aimThenPress =
  'Turn the camera until a place on the floor is under the cross, then press that place on the plan.'
export const middleCounts = 'What is under the cross counts.'
export const morePlaces = (many: number) =>
  many === 1 ? 'One more place is needed.' : `${count(many)} more places are needed.`
export const places = 'Places'
export const noPlacesYet = 'None yet. Each place that you press gets a number here.'
export const saysNoPosition = 'The camera does not say where it looks: it cannot be calibrated by aiming.'
export const lookedAt = (pan: string, tilt: string) => `pan ${pan}°, tilt ${tilt}°`
export const offByDegrees = (degrees: string, isLeftOut: boolean) =>
  isLeftOut ? `${degrees}° off: it contradicts the others and does not count` : `${degrees}° off`
export const aimFits = (degrees: string, leftOut: number, hasHeight: boolean) =>
  [
    `They are ${degrees}° off in the mean.`,
    leftOut === 0 ? '' : leftOut === 1 ? 'One contradicts the others.' : `${count(leftOut)} contradict the others.`,
    hasHeight ? '' : 'Its height is not known: aim at a place nearer to it, too.',
  ]
    .filter(Boolean)
    .join(' ')
export const askingHowItTurns = 'Asking the camera how it turns'
export const turningNotRead = 'The camera did not say how it turns'
export const notTrained = 'It is not known how wide this camera sees'
export const trainIt = 'Find out by turning it'
export const itTrains = 'The camera turns to and fro'
export const trainingIsFor =
  'That takes some minutes, in daylight, and it looks where it did afterwards. Then it is calibrated by aiming.'
export const stillForPoints = 'What is marked here is marked on the plan too, in the same order.'
export const withoutStill = 'Without a picture nothing can be marked in it.'
export const notOnPlan = 'This camera is not on this plan'
export const putItFirst = 'Put it on the plan first, then calibrate it.'

// Privacy masks (masks-page.ts, mask-drawing.ts)

export const masks = 'Privacy masks'
export const drawMasks = 'Draw privacy masks'
export const changeMasks = 'Change the privacy masks'
export const masksOf = (name: string) => `Privacy masks of ${name}`
export const changesMasks = 'draws privacy masks'
export const noMasks = 'No masks'
export const howToDraw =
  'Everything that the camera sends is shown. Draw a rectangle over the picture, or add one here; then move it, or its corners.'
export const noMoreMasks = (most: number) => `A camera has at most ${most} masks.`
export const masksAreSaved = (many: number) =>
  many === 0
    ? 'The camera has no masks any more.'
    : `${many === 1 ? 'The mask is' : `${count(many)} masks are`} in every picture from now on.`
export const noPictureNow = 'The camera sends no picture now.'
export const noAnswerForStill = 'The recorder did not answer. Ask for a new picture.'
export const stillOf = (name: string) => `What ${name} shows now`
export const behindIsBlack =
  'What a saved mask covers is black here too, and in footage that was recorded before. The footage itself stays as it came.'
export const drawAllTheSame = 'Masks can be drawn all the same: they are kept as parts of the picture.'
export const maskNumber = (at: number) => `Mask ${at + 1}`
export const corners = (many: number) => `${many} corners`
export const removeMask = (at: number) => `Remove mask ${at + 1}`
export const drawnMasks = 'Masks over the picture'
export const moveMask = (at: number) => `Mask ${at + 1}`
export const moveCorner = (at: number, corner: number) => `Mask ${at + 1}, corner ${corner + 1}`
export const moveByKeys = 'Arrow keys move it, with Shift further. Delete removes it.'
export const fromLeft = (corner: number) => `Corner ${corner + 1}, percent from the left`
export const fromTop = (corner: number) => `Corner ${corner + 1}, percent from the top`
export const addCorner = (corner: number) => `Add a corner behind corner ${corner + 1}`
export const removeCorner = (corner: number) => `Remove corner ${corner + 1}`
export const inPercent = 'Percent of the picture, from its left and its top.'
export const zeroToHundred = 'Type a number from 0 to 100.'

// The list of cameras and its forms (cameras-page.ts)

export const nextCamera = 'next camera'
export const previousCamera = 'previous camera'
export const addsCamera = 'adds a camera'
export const noCameras = 'No cameras yet'
export const howToAdd =
  'Find those on the network, or add one by its RTSP address, which stands in its manual. It is recorded from then on.'
export const askAnAdministrator = 'An administrator adds cameras.'
export const noCameraMatches = (filter: string) => `No camera matches ${filter}`
export const escShowsAll = 'Esc shows all of them.'
export const playbackOf = (name: string) => `Playback of ${name}`
export const name = 'Name'
export const nameExample = 'Front door'
export const address = 'RTSP address'
export const addressExample = 'rtsp://10.20.4.31/stream1'
export const addressHint = 'rtsp://, the camera’s address, and the path of its best stream in H.264.'
export const subAddress = 'Address for watching'
export const subAddressHint = 'Of a smaller stream of the same camera. Left empty, the one above is watched too.'
export const cameraUser = 'User on the camera'
export const cameraUserHint = 'Left empty where the camera asks for none.'
export const cameraPassword = 'Password on the camera'
export const cameraIsAdded = (name: string) => `${name} is added.`
export const cameraIsChanged = (name: string) => `${name} is changed.`
export const cameraIsRemoved = (name: string) => `${name} is removed.`
export const cameraNamed = (name: string) => `Camera ${name}`
export const isRecorded = 'Use this camera'
export const isRecordedHint = 'Switched off, it is left alone; its footage stays as long as any other.'
export const keepsFootage = 'Keep its footage'
export const keepsFootageHint =
  'Switched off, it is shown live and looked at for events, and nothing of it is recorded from then on.'
export const isHeard = 'Record its sound'
export const isHeardHint = 'Where it sends some. Recording what people say needs a right to do so.'
export const isUdp = 'Over UDP'
export const isUdpHint =
  'For a camera that stutters over TCP. What is lost on the way is lost; a firewall has to let it in.'
export const newAddress = 'New RTSP address'
export const newAddressHint =
  'Left empty, the present one stays. A new one takes no login of the old one along, and no address for watching.'
export const leftEmpty = 'Left empty, the present one stays.'
export const removeQuestion = (name: string) => `Remove ${name}?`
export const removingMeans =
  'It is no longer recorded, and its footage can no longer be watched. Added again, it is a new camera. To pause it, switch it off instead.'

// Cameras on the network (find-cameras.ts)

export const findsCameras = 'finds cameras'
export const findCameras = 'Find cameras'
export const scanAgain = 'Look again'
export const scanning = 'Looking for cameras'
export const scanTakes = 'Every network of the recorder is asked. This takes some seconds.'
export const notScanned = 'The recorder did not look'
export const noneFound = 'No camera answered'
export const checkThese = 'Look at the camera:'
export const checks = [
  'It is on the same network as the recorder, not behind a router.',
  'ONVIF is switched on in its settings.',
  'It has a user for ONVIF, where it keeps those apart.',
]
export const addByAddress = 'Add by RTSP address'
export const foundSo = (many: number) => (many === 1 ? 'One camera answered' : `${count(many)} cameras answered`)
export const addedAs = 'Added as'
export const tickAll = 'Tick all'
export const tickNone = 'Tick none'
export const tickOne = 'Tick at least one camera.'
export const onvifUserHint = 'One login for all that are ticked. Many cameras keep users for ONVIF apart.'
export const addSome = (many: number) => (many < 2 ? 'Add camera' : `Add ${count(many)} cameras`)
export const signingIn = 'Signing in'
export const camerasAreAdded = (names: string[]) => `${listed(names)} ${names.length === 1 ? 'is' : 'are'} added.`

// One camera (camera-page.ts)

export const soundIsOff = 'Its sound is switched off in its settings.'
export const noSoundSent = 'It sends no sound.'
export const soundNotLive =
  'It sends its sound as G.711, which browsers do not play live. Set it to AAC in the camera, or hear it under Playback.'

export const noSuchCamera = 'There is no such camera'
export const itWasRemoved = 'It was removed, or is not for this account.'
export const editsCamera = 'changes the camera'
export const sentenceOfState = (state: string) => `${state}.`
export const itIsNow = (time: string) => `Live, ${time}.`
export const pictureFrom = (time: string, age: string) => `The picture of ${time}, ${age} ago.`
export const newestOf = (name: string) => `Newest footage of ${name}`
export const recordedAgo = (time: string, age: string) => `Recorded at ${time}, ${age} ago. It goes on by itself.`
export const lastPictureIsOf = (time: string, age: string) => `The last picture is of ${time}, ${age} ago.`
export const footageIsComing = 'Footage is coming'
export const firstGroup = 'The first is written once the camera has sent a whole group of pictures, a few seconds.'
export const nothingNew = 'No new footage'
export const itIsOff = 'The camera is switched off. Edit it to record it again.'
export const nothingNewMeans =
  'Nothing was recorded in the last two minutes. It appears here by itself; what was before is under Playback.'
export const picture = 'Picture'
export const coding = 'Coding'
export const lastPicture = 'Last picture'
export const ago = (age: string) => `${age} ago`
export const keptSince = 'Footage since'
export const keptUntil = 'Footage until'
export const recordedSinceStart = 'Recorded since the start'
export const pictures = 'Pictures'
export const lostPackets = 'Packets lost'
export const brokenPackets = 'Packets broken'
export const droppedPictures = 'Pictures dropped'
export const lostGroups = 'Groups not written'

// Films (film.ts)

export const noAnswerForFilm = 'The recorder did not answer. It is asked again when you press Play or jump.'
export const filmNotPlayed = (said: string) =>
  `This browser cannot play it${said === '' ? '' : ` (${said})`}. Saved as a file, another player can.`

export const noDecoder =
  'The camera sends H.265, which this browser does not play on this machine. Use one that does, save it as a file, or set the camera to H.264: what it sends from then on is shown here.'

// Events (events-page.ts)

export const events = 'Events'
export const askingEvents = 'Asking what was seen'
export const eventsNotRead = 'The events could not be listed'
export const seenGroups = [
  ['', 'Everything'],
  ['person', 'Persons'],
  ['vehicle', 'Vehicles'],
  ['animal', 'Animals'],
  ['other', 'Motion and other'],
] as const
export const seenLabel = (label: string) => label.charAt(0).toUpperCase() + label.slice(1)
export const seenPlate = (label: string, plate: string) => `${seenLabel(label)} ${plate}`
export const goesOn = 'goes on'
export const lasted = (time: string) => `for ${time}`
export const pictureOfEvent = (label: string, camera: string, when: string) => `${label}, ${camera}, ${when}`
export const olderEvents = 'Older events'
export const allEvents = 'All events'
export const noSuchEvent = 'There is no such event'
export const eventIsGone = 'Its footage was removed, or it is of a camera that is not yours to see.'
export const noEventMatches = 'Nothing like this was seen'
export const otherFilters = 'Choose another camera, or everything.'
export const nothingLooks = 'Nothing looks at the cameras'
export const motionMeans =
  'The recorder can look for motion: it lists when something moved, and where. This costs a little of the processor for each camera.'
export const lookForMotion = 'Look for motion'
export const nothingSeenYet = 'Nothing was seen yet'
export const eventsCome = 'As soon as something moves in front of a camera it is listed here.'
export const adminChooses = 'If this stays empty, an administrator can choose on this page what looks at the cameras.'
export const detectorKinds = { off: 'Off', motion: 'Motion', camera: 'Cameras', external: 'Program' } as const
export const detectorIs = {
  off: 'Nothing looks at the cameras.',
  motion: 'The recorder looks for motion.',
  camera: 'Cameras say themselves what they see.',
  external: 'A program looks at the cameras.',
} as const
export const detectorMeans = {
  off: 'Footage is recorded all the same.',
  motion: 'It says that something moves, and not what.',
  camera: 'Of cameras whose own events are listened to: their pages say which.',
  external: 'It names what moves. It is that of the file of settings, or plantroom-detector.',
} as const
export const detectorNotRead = 'The detector could not be asked'
export const askingDetector = 'Asking the detector'
export const detectorSeesNothing = 'The detector sees nothing'

// People (people-page.ts)

export const people = 'People'
export const askingPeople = 'Asking who is known'
export const peopleNotRead = 'What is recognised could not be read'
export const recognitionUnavailable = 'Recognition of plates is unavailable'
export const recognitionIsOff = 'Plates are not read'
export const recognitionMeans =
  'Plates of vehicles can be read, so that events are found by them. Whose plates are kept may be a matter of law where you are: ask first.'
export const platesAreRead = 'Plates of vehicles are read'
export const namedAndUnnamed = (names: string, plates: string) => `${names}; ${plates} without one.`
export const recognitionOn = 'Plates are read from now on.'
export const switchRecognitionOff = 'Stop reading plates'
export const switchOffQuestion = 'Stop reading plates?'
export const switchOffMeans =
  'Events carry no plates and names any more. The names stay, and what was read goes with its footage.'
export const keepRecognition = 'Go on reading'
export const noUnnamedPlates = 'No plate is waiting for a name'
export const platesCome =
  'A plate that is read appears here once its vehicle has passed. It has to be 90 pixels wide in the recorded picture.'
export const nothingIsRead = 'Nothing is read now.'
export const pictureOfPlate = (plate: string) => `Vehicle with the plate ${plate}`
export const seenTimes = (times: string) => (times === '1' ? 'seen once' : `seen ${times} times`)
export const noNames = 'No vehicle has a name yet'
export const whatNamesAre = 'Name a vehicle: its events carry the name, earlier ones too.'
export const noPlate = 'no plate'
export const nameVehicle = 'Name a vehicle'
export const newName = 'A new name'
export const belongsTo = 'Belongs to'
export const nameLabel = 'Name'
export const vehicleExample = 'Baker, blue van'
export const platesLabel = 'Plates'
export const platesHint = 'One a line. Letters and digits count; O and 0, 5 and S, 8 and B are the same.'
export const isNamed = (name: string) => `It is ${name}.`
export const seenLast = 'Seen last'
export const notSeenYet = 'Not seen yet.'
export const sameAs = 'Is the same as'
export const nobodyElse = 'Nobody else'
export const isMerged = (from: string, into: string) => `${from} is ${into} now.`
export const mergeNamed = (from: string, into: string) => `Merge ${from} into ${into}`
export const mergeQuestion = (from: string, into: string) => `Merge ${from} into ${into}?`
export const mergingMeans = (from: string, into: string) =>
  `${into} gets the plates and events of ${from}, and the name ${from} is gone.`
export const keepBoth = 'Keep both'
export const forgetNamed = (name: string) => `Forget ${name}`
export const forgetQuestion = (name: string) => `Forget ${name}?`
export const forgettingMeans = 'Its events are of somebody unknown then. Plates that were read go with their footage.'
export const keepNamed = (name: string) => `Keep ${name}`
export const isForgotten = (name: string) => `${name} is forgotten.`

// Playback (playback-page.ts)

export const barsMean = 'Bars: how much was seen. Full ones: persons, vehicles, animals.'
export const seenThatDay = (many: number) => (many === 1 ? '1 event.' : `${count(many)} events.`)
export const noFootageWithoutCameras = 'Footage begins with the first camera.'
export const footageNotRead = 'The footage could not be listed'
export const askingFootage = 'Asking what is recorded'
export const nothingEver = 'Nothing of this camera is kept'
export const nothingEverMeans = 'It has not been recorded yet, or all of it was deleted as it got old.'
export const playOrPause = 'plays or pauses'
export const play = 'Play'
export const pause = 'Pause'
export const speed = 'Speed'
export const soundOn = 'Sound on'
export const soundOff = 'Sound off'
export const soundOnOrOff = 'switches the sound on or off'
export const backByTen = '10 s back, with Shift a minute'
export const onByTen = '10 s on, with Shift a minute'
export const nextStretch = 'Next footage'
export const stretchBefore = 'Footage before'
export const pictureBack = 'one picture back'
export const pictureOn = 'one picture on'
export const noneAfter = 'Nothing is recorded after this.'
export const noneBefore = 'Nothing is recorded before this.'
export const nothingBetween = (from: string, to: string) => `Nothing was recorded from ${from} to ${to}.`
export const notRecordedThere = 'not recorded'
export const recordedThere = 'recorded'
export const saveMinute = 'Save the next minute'
export const preserveMinute = 'Preserve it'
export const isPreserved = 'This minute stays until it is released.'
export const nothingThatDay = 'Nothing is recorded on this day.'
export const recordedOfDay = (length: string, holes: number) =>
  `${length} recorded${holes === 0 ? ', without a hole' : `, ${holes} ${holes === 1 ? 'hole' : 'holes'}`}.`
export const filmRefused = (time: string) => `The footage of ${time} is not shown`
export const filmOf = (name: string) => `Footage of ${name}`
export const newestIsOver = 'This is the newest picture. It goes on when more is recorded.'
export const nothingOn = (date: string) => `Nothing is recorded on ${date}`
export const nothingAt = (time: string) => `Nothing is recorded at ${time}`
export const holeAround = (before: string | null, after: string | null) => {
  const parts = [
    before === null ? 'Nothing is before it on this day' : `The footage before ends at ${before}`,
    after === null ? 'nothing comes after it on this day' : `the next begins at ${after}`,
  ]
  return before === null && after === null ? 'Look at the footage before it, or after it.' : `${parts.join(', ')}.`
}
export const dayBefore = 'Day before'
export const dayAfter = 'Day after'
export const typeTime = 'Type a time such as 14:05 or 14:05:30.'

// Health (health-page.ts)

export const askingHealth = 'Asking how recording goes'
export const healthNotRead = 'The recorder did not say how recording goes'
export const diskIsSlow = (names: string[]) => `Footage of ${listed(names)} was lost: the disk did not take it in time.`
export const diskIsSlowMeans = 'Look at the disk, or record fewer or smaller pictures.'
export const clockIsOff = (age: string, isAhead: boolean) =>
  `Footage is timed ${age} ${isAhead ? 'behind' : 'ahead of'} the clock.`
export const clockIsOffMeans =
  'The clock of this machine was set. Footage keeps its own time without a jump until the recorder starts again.'
export const allIsKept = 'All that cameras sent is kept.'
export const allIsKeptMeans = 'No footage waited too long for the disk since the recorder started.'
export const kept = 'Footage kept'
export const keptNote = 'of all cameras'
export const reachesBack = 'It reaches back'
export const since = (since: string) => `to ${since}`
export const nothingKept = 'Nothing is kept yet'
export const nothingKeptMeans = 'Days appear here once a camera is recorded.'
export const goesNext = 'Deleted next'
export const goesNextNote = (since: string) =>
  `Its footage of ${since}: the oldest goes first, when its days are over or room is needed.`
export const holes = (count: number) => `${count} ${count === 1 ? 'hole' : 'holes'}`

// Disks (disks.ts)

const DISK_STATES = {
  unseen: 'looked for since',
  here: 'written since',
  full: 'full since',
  failing: 'not writable since',
  stuck: 'no answer since',
  away: 'not here since',
  foreign: 'another disk since',
} as const
export const diskSince = (state: keyof typeof DISK_STATES, since: string) => `${DISK_STATES[state]} ${since}`
export const disksAreOut = (broken: number, all: number) =>
  `${broken} of ${all} disks ${broken === 1 ? 'is' : 'are'} not written. ${all - broken === 1 ? 'The other one takes' : 'The others take'} all footage.`
export const noDiskTakes = 'Nothing is recorded: no disk takes footage.'
export const room = 'Room left'
export const roomNote = 'then the oldest footage makes room'
export const roomLasts = (age: string) => `about ${age} at the present rate, then the oldest goes`
export const noRoom = 'the oldest footage makes room'
export const freeOf = (free: string, size: string) => `${free} of ${size}`

// Storage (storage-page.ts)

export const storage = 'Storage'
export const askingStorage = 'Asking where footage lies'
export const storageNotRead = 'The recorder did not say where footage lies'
export const disksTake = (many: number) =>
  many === 1 ? 'The disk takes footage.' : `All ${count(many)} disks take footage.`
export const foldersOfSettings = 'The folders are those of the file of settings.'
export const foldersOfPage = 'The folders were named here; those of the file of settings do not count.'
export const folder = 'Folder'
export const folderExample = '/mnt/disk1/footage'
export const folderHint = 'On a mounted disk of its own. Under systemd it has to be allowed by ReadWritePaths.'
export const isNewFolder = 'Begin there anew'
export const isNewFolderHint =
  'Makes the folder if it is missing, also on the disk of the system, and takes a new disk in the place of another.'
export const folderIsAdded = (folder: string) => `${folder} is used from now on.`
export const folderIsLeft = (folder: string) => `${folder} is no longer used.`
export const removeFolder = (folder: string) => `Remove ${folder}`
export const removeFolderQuestion = (folder: string) => `Use ${folder} no longer?`
export const removingFolderMeans =
  'Its footage stays on the disk and can no longer be watched. Added again, it is read anew.'
export const settingsQuestion = 'Use the folders of the settings?'
export const settingsMean =
  'Footage in folders that are not named there stays on its disk and can no longer be watched.'
export const settingsCount = 'The folders are those of the settings again.'
export const keepDays = 'Days'
export const days = 'days'
export const keepDaysHint = 'Older footage is deleted.'
export const keepBytes = 'All footage together'
export const keepBytesHint = 'Where there is more, the oldest is deleted.'
export const freeBytes = 'Free on each disk'
export const freeBytesHint = 'Where less is free, the oldest footage of the disk is deleted.'
export const daysOfOne = 'Days of single cameras; left empty, those of all'
export const rulesAreSaved = 'How long footage is kept is saved.'
export const thisDeletes = 'This deletes footage'
export const deleteQuestion = 'Delete footage?'
export const goneForGood = 'It cannot be brought back. Preserved stretches stay.'
export const nothingPreserved = 'Nothing is preserved'
export const howToPreserve = 'Preserve the next minute under Playback: it stays until it is released.'
export const removedCamera = (id: string) => `removed camera ${id}`
export const isReleased = 'The stretch is released.'
export const releaseNamed = (name: string, from: string) => `Release ${name}, ${from}`
export const releaseQuestion = (name: string, from: string) => `Release ${name}, ${from}?`
export const releasingMeans = 'It is deleted as any other footage: at once if it is too old.'

// What goes (deletions.ts)

interface DaysDelete {
  days: number
  was: number
  names: string[]
  before: string
}
export const daysDelete = ({ before, days, names, was }: DaysDelete) =>
  `Keeping ${days} ${days === 1 ? 'day' : 'days'} instead of ${was} deletes footage of ${listed(names)} from before ${before}.`
export const bytesDelete = (most: string, goes: string) => `Keeping ${most} in all deletes the oldest ${goes}.`
export const freeDeletes = (folder: string, free: string, goes: string) =>
  `Keeping ${free} free deletes about ${goes}, the oldest in ${folder}.`

// Accounts (accounts-page.ts)

export const accounts = 'Accounts'
export const roleNames = { viewer: 'viewer', operator: 'operator', administrator: 'administrator' } as const
export const roleHints = {
  viewer: 'Watches its cameras.',
  operator: 'Watches its cameras, and works them.',
  administrator: 'Sees every camera and changes everything.',
} as const
export const permissionNames = { export: 'take footage out', talk: 'talk', outputs: 'switch outputs' } as const
export const youAre = (name: string, role: string) => `You are ${name}, ${role}.`
export const onlyAdministratorsSeeAccounts = 'Administrators see and change accounts.'
export const newAccountKey = 'makes an account'
export const newTokenKey = 'makes a token'
export const askingAccounts = 'Asking who may sign in'
export const accountsNotRead = 'The accounts could not be read'
export const onlyAdministrator = (name: string) => `${name} is the only administrator.`
export const administrators = (count: number) => `${count} administrators look after this recorder.`
export const allCameras = 'all cameras'
export const noCamera = 'no camera'
export const hasEnded = (date: string) => `ended ${date}`
export const endsIn = (age: string) => `ends in ${age}`
export const you = 'you'
export const lastAdministrator = 'the last administrator'
export const noTokens = 'No tokens'
export const whatTokensAre = 'A token lets another system watch and call as one of the accounts, without its password.'
export const readsOnly = 'reads only'
export const readsOnlyLabel = 'Reads only'
export const never = 'Never'
export const inDay = 'In a day'
export const inDays = (days: number) => `In ${days} days`
export const tokenIsRevoked = (name: string) => `${name} is revoked.`
export const revokeNamed = (name: string) => `Revoke ${name}`
export const revokeQuestion = (name: string) => `Revoke ${name}?`
export const revokingMeans =
  'What it has open is closed at once, and it is refused from then on. It cannot be made again.'
export const newAccount = 'New account'
export const accountNamed = (name: string) => `Account ${name}`
export const isChanged = (name: string) => `${name} is changed.`
export const accountIsAdded = (name: string) => `${name} may sign in.`
export const isRemoved = (name: string) => `${name} is removed.`
export const removingAccountMeans = 'It is signed out everywhere at once, and its tokens are refused from then on.'
export const roleLabel = 'Role'
export const newPassword = 'New password'
export const ends = 'Ends'
export const endsHint = 'For somebody who is here for some days only.'
export const save = 'Save'
export const addAccount = 'Add account'
export const everyCamera = 'Sees every camera'
export const mayExport = 'May take footage out'
export const mayExportHint = 'Watch what is older than two minutes, and save it. Each time is written into the journal.'
export const newToken = 'New token'
export const tokenExample = 'Building management'
export const tokenNameHint = 'Which system it is for: it tells whom to ask before it is revoked.'
export const tokenOf = 'Acts as'
export const tokenOfHint = 'It sees the cameras of this account, and may do what its role may.'
export const tokenIsCopied = 'The token is copied.'
export const ownPassword = 'Own password'
export const passwordNow = 'Present password'
export const yourPasswordIsChanged = 'Your password is changed. Other sign-ins of yours are over.'

// The clock of the recorder's machine (clock-page.ts)

export const clock = 'Clock'
export const askingClock = 'Asking the clock of the recorder'
export const clockNotRead = 'The clock could not be read'
export const clockNotSettable = 'The clock of this machine cannot be set here.'
export const clockIsFetched = 'The clock is right: its time comes from the network.'
export const clockIsKept = 'The clock is right, by another program than network time.'
export const networkTimeIsSilent = 'Network time is on, but no server has answered yet.'
export const networkTimeRemedy = 'Look at the network of this machine. Until then the clock runs by itself.'
export const clockIsByHand = 'The time does not come from the network.'
export const byHandDrifts = 'A clock on its own is soon seconds off. Switch network time on where there is a network.'
export const nothingFetches =
  'Nothing on this machine can fetch the time from the network. Install systemd-timesyncd or chrony.'
export const timeNow = 'Time now'
export const timeZone = 'Time zone'
export const zoneIsPinned = 'Pinned by SVC_TZ.'
export const zonePinnedTo = (name: string) =>
  `SVC_TZ in the recorder’s environment pins the time zone to ${name}. It is changed there.`
export const networkTime = 'Network time'
export const isOn = 'On'
export const isOff = 'Off'
export const isFetched = 'The time was fetched.'
export const isNotFetched = 'The time was not fetched.'
export const timeForCameras = 'Time for cameras'
export const isGiven = 'Given'
export const isNotGiven = 'Not given'
export const camerasAskHere = 'Cameras take their time from this machine.'
export const leaveClocks = 'Leave clocks alone'
export const correctClocks = 'Correct clocks'
export const clocksAreCorrected = 'Clocks of cameras are corrected'
export const clocksAreLeft = 'Clocks of cameras are left alone'
export const correctingMeans =
  'A camera that is seconds off, shows another zone, or takes its time from elsewhere is corrected. What was written is listed on its page.'
export const leavingMeans = 'They are still looked at, and what is wrong is listed under Today.'
export const networkTimeHint = 'It comes from servers on the network, and is kept right.'
export const timeByHand = 'Time'
export const timeByHandHint = 'Year, month, day, hour and minute, in the zone above. Left empty, it stays.'
export const timeZoneHint = 'Type a part of its name, such as Berlin.'
export const setClock = 'Set clock'
export const clockIsSet = 'The clock is set.'
export const setTimeQuestion = (time: string) => `Set the time to ${time}?`
export const settingTimeMeans =
  'It is the clock of the whole machine. Recording goes on; footage is found at the new time from then on, and after a clock was set back only once the recorder is started again.'

// The clock of a camera (camera-clock-page.ts)

export const clockOf = (name: string) => `Clock of ${name}`
export const opensClock = 'opens its clock'
export const clockIsOutOfReach = 'Its clock cannot be reached'
export const addOverOnvif =
  'The camera was added by the address of its stream. Find it on the network, and add it over ONVIF.'
export const askingCameraClock = 'Asking the camera'
export const cameraClockNotRead = 'The clock of the camera could not be read.'
export const clockIsRight = 'Its clock is right.'
export const cameraClockIsOff = (drift: string) => `Its clock is ${drift}.`
export const serverIsWrong = 'It takes its time from a server. Set the clock, and it takes it from the recorder.'
export const setRemedy = 'Set the clock.'
export const ahead = (text: string) => `${text} ahead`
export const behind = (text: string) => `${text} behind`
export const noDrift = 'none'
export const againstRecorder = 'Against the recorder'
export const localTime = 'Local time'
export const timeSource = 'Its time comes'
export const fromServer = 'from a server'
export const byHand = 'by hand'
export const setTheClock = 'Set the clock'
export const settingClock = 'Setting the clock'
export const switchToManual = 'Switch to manual time'
export const manualQuestion = (name: string) => `Switch ${name} to manual time?`
export const manualMeans =
  'It no longer asks a server for the time. The recorder sets its time now, and later on only where it is seconds out.'
export const cameraClockIsSet = (name: string) => `The clock of ${name} is set.`
export const cameraClockIsNotRight = (name: string) => `${name} was told the time, and does not show it.`
export const before = 'Before'
export const afterwards = 'Afterwards'
export const notVerified = ', which is not what was set'
export const zoneKept = (zone: string) => `${zone}, as it was`
export const timeServer = 'Server of time'
export const serverIsKept = 'the one that it had'
export const nothingWritten = 'Nothing was written to it'
export const writtenHere = 'What the recorder or somebody sets in this camera stands here.'
export const operations: Readonly<Record<string, string>> = {
  ...{ output: 'Output', ptz_return: 'Back to its preset' },
  ...{ clock: 'Clock', clock_manual: 'Manual time', ptz_move: 'Turned', ptz_stop: 'Stopped' },
  ...{ ptz_preset: 'Turned to a preset', ptz_preset_saved: 'Preset saved', ptz_aim: 'Aimed', ptz_train: 'Trained' },
  ...{ ptz_patrol: 'Step of the patrol', ptz_follow: 'Followed', ptz_follow_return: 'Back from following' },
}
export const turnedFor = (seconds: string) => `for ${seconds}`
export const byItself = 'the recorder'

// Turning a camera (ptz-pad.ts)

export const turn = 'Turn'
export const holdToTurn = 'Hold to turn'
export const turnUp = 'Up'
export const turnDown = 'Down'
export const turnLeft = 'Left'
export const turnRight = 'Right'
export const zoomIn = 'Zoom in'
export const zoomOut = 'Zoom out'
export const presets = 'Presets'
export const noPresets = 'This camera keeps no presets.'
export const turnedTo = (camera: string, preset: string) => `${camera} turns to ${preset}.`

export const patrolAndTracking = 'Patrol and tracking'
export const newPreset = 'Save this view'
export const newPresetHint = 'As a preset of the camera, by this name.'
export const savePreset = 'Save preset'
export const presetIsSaved = (name: string) => `${name} is saved in the camera.`

// Patrols and auto tracking (turning-page.ts, turning-forms.ts)

export const turningOf = (name: string) => `${name}: patrol and tracking`
export const toCamera = (name: string) => `Back to ${name}`
export const operatorsTurn = 'Operators turn cameras'
export const askAdministrator = 'Ask an administrator for that role.'
export const patrol = 'Patrol'
export const askingPatrol = 'Asking for the patrol'
export const patrolNotRead = 'The patrol could not be read'
export const noPatrol = 'No patrol'
export const whatPatrolsAre =
  'The camera goes from preset to preset by itself, and stands back while somebody turns it.'
export const patrolNeedsPresets = 'This camera keeps no presets yet. Save some on its page.'
export const isAtStep = (preset: string, step: number, all: number) => `At ${preset}, step ${step} of ${all}.`
export const stepSentence = (preset: string, seconds: number) => `${preset}, for ${seconds} s`
export const patrolBegins = 'It begins.'
export const patrolPaused = (time: string) => `Paused until ${time}: somebody turned the camera.`
export const patrolHeld = 'Held until somebody has it go on.'
export const patrolOff = 'Switched off.'
export const goOn = 'Go on'
export const holdPatrol = 'Hold'
export const patrolGoesOn = 'The patrol goes on.'
export const patrolIsHeld = 'The patrol is held.'
export const setPatrol = 'Set the patrol'
export const addStep = 'Add step'
export const nthStep = (at: number) => `${at}. preset`
export const stayFor = 'For'
export const dropStep = (at: number) => `Leave out step ${at}`
export const resumeAfter = 'Goes on after'
export const resumeHint = 'So long after somebody has turned the camera.'
export const switchedOn = 'Switched on'
export const savePatrol = 'Save patrol'
export const patrolIsSaved = 'The patrol is saved.'
export const removePatrol = 'Remove patrol'
export const removingPatrolMeans = 'The camera stays where it is. To let it rest, switch it off.'
export const patrolIsRemoved = 'The patrol is removed.'
export const notNow = 'Not now'
export const tracking = 'Auto tracking'
export const askingTracking = 'Asking the camera whether it can follow'
export const trackingNotRead = 'Auto tracking could not be read'
export const noTracking = 'No auto tracking'
export const whatTrackingIs = 'The camera follows whom a detector sees in its picture.'
export const isWatching = (what: string) => `Watching for ${what}.`
export const isFollowing = (label: string, since: string, moves: string) =>
  `Following since ${since}: ${label}, ${moves}.`
export const trackingPaused = (time: string) => `Paused until ${time}.`
export const trackingOff = 'Switched off.'
export const lastFollow = (label: string, time: string, why: string) =>
  `The last one, ${label}, ended at ${time}: ${why}.`
export const followEnds = {
  lost: 'it was no longer seen',
  time: 'it had been followed as long as is allowed',
  operator: 'a person turned the camera',
  rule: 'a rule turned the camera',
  moved: 'somebody else turned the camera',
  stopped: 'it was stopped',
  failed: 'the camera did not do as it was told',
} as const
export const stopFollowing = 'Stop following'
export const followIsStopped = 'The camera stays where it is.'
export const cannotFollow = 'It cannot follow now'
export const train = 'Train'
export const trainQuestion = 'Train this camera?'
export const trainingMeans =
  'It turns a little and zooms for some minutes, compares its pictures, and comes back. Do it by day, with something to see in the picture.'
export const isTrained = 'The camera is trained.'
export const setTracking = 'Set auto tracking'
export const whomToFollow = 'Whom it follows'
export const longestFollow = 'For at most'
export const saveTracking = 'Save tracking'
export const trackingIsSaved = 'Auto tracking is saved.'
export const removeTracking = 'Remove tracking'
export const removingTrackingMeans = 'The camera stays where it is. To let it rest, switch it off.'
export const trackingIsRemoved = 'Auto tracking is removed.'

// Messages that cameras say (messages-page.ts, talk-panel.ts)

export const messages = 'Messages'
export const askingMessages = 'Asking for the messages'
export const messagesNotRead = 'The messages could not be read'
export const noMessages = 'No messages yet'
export const whatMessagesAre =
  'A message is what a camera says through its loudspeaker: a WAV file, or a text that is read aloud.'
export const askForMessages = 'Administrators make them.'
export const makeMessageFirst = 'Make one on the page Messages.'
export const fromFile = 'From a file'
export const fromText = 'From a text'
export const messageName = 'Name of the message'
export const soundFile = 'Sound'
export const chooseFile = 'Choose a WAV file'
export const soundHint = 'WAV, as phones and sound programs record it.'
export const fileFirst = 'Choose a WAV file first.'
export const addMessage = 'Add message'
export const whatIsSaid = 'What is said'
export const saidExample = 'This area is watched. Leave it now.'
export const voice = 'Voice'
export const voiceOptions = ['en', 'en-us', 'de', 'fr', 'es', 'it', 'nl', 'pl', 'pt', 'sv']
export const voiceHint = 'The language as espeak-ng names it: en, de, fr. en+f3 is a woman.'
export const readingAloud = 'Reading aloud'
export const messageIsAdded = (name: string) => `${name} is added.`
export const messageIs = (seconds: string, text: string | null) =>
  text === null ? `${seconds} s` : `${seconds} s: ${text}`
export const listenTo = (name: string) => `Listen to ${name}`
export const deleteMessage = 'Delete'
export const deleteNamed = (name: string) => `Delete ${name}`
export const deleteMessageQuestion = (name: string) => `Delete ${name}?`
export const deletingMeans = 'Rules that say it will fail, and say so.'
export const keepMessage = 'Keep message'
export const messageIsDeleted = (name: string) => `${name} is deleted.`
export const speak = 'Speak'
export const speakNow = 'Speak now'
export const stopSpeaking = 'Stop'
export const cameraSpeaks = (name: string, seconds: number) => `${name} speaks for ${seconds} s.`
export const cameraIsQuiet = (name: string) => `${name} says no more.`
export const cameraWasQuiet = (name: string) => `${name} was saying nothing.`
export const askForLoudspeaker = 'Ask for its loudspeaker'
export const askAgain = 'Ask again'
export const loudspeakerAsked = (name: string) => `${name} was asked.`
export const loudspeakerUnknown = 'Nobody has asked yet'
export const noLoudspeaker = 'No loudspeaker'
export const whatTalkIs = 'Cameras with a loudspeaker say messages that are saved here.'
export const mayNotSpeak = 'You may not speak through cameras'
export const talkPermission = 'It wants the permission talk: see Accounts.'

// The licence (licence-page.ts)

export const licence = 'Licence'
export const askingLicence = 'Asking for the licence'
export const licenceNotRead = 'The licence could not be read'
export const noLicenceNeeded = 'This recorder needs no licence.'
export const nothingIsLimited = 'Nothing is limited.'
export const isLicensed = 'The recorder is licensed.'
export const isTrial = 'This is a trial.'
export const isPending = (day: string) => `The licence server was not reached yet. Everything is allowed until ${day}.`
export const activateBefore = 'Activate a licence key before it ends, or import a lease file.'
export const isGrace = (day: string) => `The lease has run out. Everything goes on until ${day}.`
export const graceRemedy =
  'The licence server was not reached. Look at the network of this machine, or import a lease file.'
export const noLicence = {
  expired: 'The licence has ended. Renew it at the vendor, then ask the server.',
  unlicensed: 'There is no licence. Activate a licence key.',
  suspended: 'The vendor has suspended the licence. Ask the vendor.',
  revoked: 'The vendor has revoked the licence. Ask the vendor.',
}
export const whatIsOnGoesOn = 'Recording, cameras and features that are on go on; nothing new is added.'
export const licensedCameras = 'Cameras'
export const anyNumber = 'Any number is allowed.'
export const camerasOf = (most: string) => `${most} allowed`
export const licensedFeatures = 'Features'
export const featuresOf = (some: number, all: number) => `${some} of ${all}`
export const allIncluded = 'All are included.'
export const notIncluded = (names: string) => `Not included: ${names}`
export const leaseEnds = 'Lease ends'
export const leaseIsFile = 'It came as a file; import the next one before.'
export const leaseIsRenewed = 'It is renewed by itself.'
export const termEnds = 'Licence ends'
export const noTerm = 'No end is set.'
export const licenceKey = 'Licence key'
export const licenceKeyHint = 'As the vendor sent it. The licence server is asked at once.'
export const moveKey = 'Move it here'
export const moveQuestion = 'Move the licence here?'
export const movingMeans = 'Where it is in use now, nothing new can be added from then on. What is on there goes on.'
export const licenceIsActive = 'The licence is active.'
export const offlineSteps =
  'Download a request and send it to the vendor. Import the lease file that comes back: it fits this recorder alone.'
export const leaseFile = 'Lease file'
export const leaseIsTaken = 'The lease is taken.'
export const customer = 'Customer'
export const licencePlan = 'Plan'
export const leaseIssued = 'Lease issued'
export const updatesUntil = 'Updates until'
export const installation = 'Installation'
export const licenceIsRefreshed = 'The licence server has answered.'
export const licenceIsGivenUp = 'The licence is given up here.'
export const giveUpQuestion = 'Give the licence up here?'
export const givingUpMeans =
  'It can be activated on another recorder then. What is on here goes on; nothing new is added.'

// Updates (update-page.ts)

export const updates = 'Updates'
export const askingUpdate = 'Asking which version runs'
export const updateNotRead = 'The state of updates could not be read'
export const versionRuns = (version: string) => `Version ${version} runs.`
export const isBeingUpdated = 'Plantroom is being updated.'
export const recordingGoesOn =
  'Recording goes on until the new version is unpacked. Then the recorder restarts, and this page shows what came of it.'
export const updateWasCut =
  'The last update was cut off. It is ended when this machine starts next, or with the next update.'
export const lastUpdate = (since: string, what: string) => `Last update ${since}: ${what}`
export const releaseFile = 'Release file'
export const releaseFileHint =
  'For a recorder that reaches no update server. The file is proven by its signature before anything is changed. If the new version is not well, this one comes back by itself.'
export const onlySecurityFixes = 'Without a licence in force only security fixes are taken.'
export const releasesUntil = (day: string) =>
  `The licence includes releases signed until ${day}, and all security fixes.`
export const pickRelease = 'Pick a release file'
export const sentOf = (sent: string, all: string) => `${sent} of ${all} sent`
export const releaseIsProven = (name: string) => `${name} is there, and is being proven.`
export const releaseIsTaken = (version: string) => `${version} is proven, and its update has begun.`
export const releaseIsTooLarge = (size: string, most: string) =>
  `The file has ${size}, and at most ${most} are taken. Is it a release file?`
export const uploadWasStopped = 'Sending was stopped. Nothing was changed.'
export const uploadWasCut =
  'The connection to the recorder was cut while the file was sent. Nothing was changed: send it again.'
export const whatUpdaterSays = 'What the updater says'

// MQTT (mqtt-page.ts)

export const mqtt = 'MQTT'
export const askingMqtt = 'Asking how the broker is'
export const mqttNotRead = 'The state of the broker could not be read'
export const mqttIsOff = 'Nothing is told over MQTT.'
export const mqttWouldTell = 'Name a broker, and Home Assistant and others hear how cameras are.'
export const brokerTakes = (host: string) => `${host} takes messages.`
export const mqttSince = (since: string, topics: string) => `Since ${since}. It keeps ${topics}.`
export const brokerIsAsked = (host: string) => `${host} is asked.`
export const brokerIsAway = (host: string) => `${host} does not take messages.`
export const triedAgainIn = (time: string) => `It is tried again in ${time}.`
export const underTopic = 'Topics'
export const messagesTaken = 'Messages taken'
export const messagesWait = 'Waiting'
export const messagesWaiting = (topics: string, messages: string) => `${topics}, ${messages}`
export const messagesDropped = 'Messages dropped'
export const brokerWasAway = (times: string) => `${times}; the broker was away too long, or is too slow`
export const topicsRefused = 'Topics left out'
export const raiseTopics = (times: string) => `${times}; raise mqtt.topics`
export const testArrived = 'The broker has the message.'
export const tellOverMqtt = 'Tell over MQTT'
export const tellOverMqttHint = 'Whoever may read at the broker hears of every camera: it is not filtered by account.'
export const brokerAddress = 'Address'
export const brokerAddressHint = 'mqtt://HOST:PORT, or mqtts://HOST:PORT for TLS.'
export const brokerUser = 'User'
export const brokerUserHint = 'Left empty, it is signed in to without one.'
export const brokerPassword = 'Password'
export const passwordIsKept = 'One is kept; type another to change it.'
export const noPasswordYet = 'It is kept sealed.'
export const topicPrefix = 'Topics begin with'
export const topicPrefixHint = '{id} stands for the id of this recorder.'
export const discoveryPrefix = 'Home Assistant discovery'
export const discoveryPrefixHint =
  'Where Home Assistant listens: homeassistant, unless it was changed there. Empty: it is not told.'
export const mqttIsSaved = 'Saved.'
// Rules, buttons and alerts (rules-page.ts, rule-panel.ts, rule-form.ts, rule-actions.ts, actions-page.ts)

export const buttonsAndAlerts = 'Buttons and alerts'
export const buttons = 'Buttons'
export const alerts = 'Alerts'
export const rules = 'Rules'
export const whatRulesDid = 'what rules did'
export const askingAlerts = 'Asking what rules did'
export const alertsNotRead = 'Alerts could not be read'
export const noButtons = 'No buttons'
export const howToMakeButton = 'Make a rule that waits for a button: it appears here, and on every phone.'
export const askForButton = 'An administrator makes them.'
export const operatorsPress = 'Operators and administrators press them.'
export const isPressed = (name: string) => `${name} is pressed.`
export const noAlerts = 'No alerts yet'
export const whatAlertsAre = 'When a rule does something, it stands here with what came of it.'
export const underWay = 'under way'
export const actionNames: Readonly<Record<string, string>> = {
  notify: 'tells people',
  webhook: 'tells a webhook',
  output: 'switches an output',
  preserve: 'keeps footage',
  arm: 'arms or disarms rules',
  ptz_preset: 'moves a camera',
  ptz_aim: 'aims a camera',
  talk_message: 'speaks',
}
export const actionOptions = [
  ['notify', 'Tell people on open pages'],
  ['webhook', 'Tell a webhook'],
  ['output', 'Switch an output'],
  ['preserve', 'Keep the footage'],
  ['arm', 'Arm or disarm rules'],
  ['ptz_preset', 'Turn a camera to a preset'],
  ['ptz_aim', 'Turn a camera to where it happens'],
  ['talk_message', 'Speak through a camera'],
] as const
export const triggerOptions = [
  ['button', 'Somebody presses its button'],
  ['camera_event', 'A camera claims something'],
  ['detection', 'Something is seen'],
  ['departure', 'Something that was seen is gone'],
  ['occupancy', 'So many are there for a while'],
  ['absence', 'Nothing was there for a while'],
  ['unusual', 'More or fewer are seen than usual'],
  ['fault', 'Something is wrong with the recorder'],
] as const
export const triggerSentences: Readonly<Record<string, (what: string) => string>> = {
  button: () => 'its button is pressed',
  camera_event: () => 'the camera claims something',
  detection: (what) => `${what} is seen`,
  departure: (what) => `${what} is gone`,
  occupancy: (what) => `${what} is there for a while`,
  absence: (what) => `${what} was not there for a while`,
  fault: () => 'something is wrong with the recorder',
  unusual: (what) => `${what} is seen more or less often than usual`,
}
export const kindOptions = [
  ['motion', 'Motion'],
  ['line', 'A crossed line'],
  ['intrusion', 'Something in an area'],
  ['person', 'A person'],
  ['tamper', 'Tampering'],
  ['other', 'Something else'],
] as const
export const groupNames: Readonly<Record<string, string>> = {
  person: 'a person',
  vehicle: 'a vehicle',
  animal: 'an animal',
  other: 'something else',
}
export const dayNames = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const
export const anything = 'anything'
export const atCameras = (names: string) => ` at ${names}`
export const ruleSentence = (when: string, does: string) => `When ${when}, it ${does}.`
export const askingRules = 'Asking for the rules'
export const rulesNotRead = 'The rules could not be read'
export const noRules = 'No rules yet'
export const whatRulesAre = 'A rule says: when this happens, then do that.'
export const newRule = 'New rule'
export const ruleName = 'Name of the rule'
export const whenHead = 'When …'
export const thenHead = '… then'
export const happens = 'Happens'
export const thingsThere = 'How many are there'
export const forSoLong = 'For'
export const whatItClaims = 'What it claims; none is anything'
export const claimHint = 'Of cameras whose own events are listened to: see their pages.'
export const ofWhat = 'Of what; none is anything'
export const atEveryCamera = 'At every camera'
export const camerasOfRule = 'At these cameras'
export const atAnyTime = 'At any time'
export const onDays = 'On these days'
export const fromTime = 'From'
export const toTime = 'To'
export const toTimeHint = 'One before it is on the next day.'
export const restsFor = 'Rests afterwards for'
export const restsHint = 'Each camera for itself.'
export const nthAction = (at: number) => `${at}. action`
export const addAction = 'Add action'
export const drop = 'Leave out'
export const dropAction = (at: number) => `Leave out action ${at}`
export const webhookAddress = 'Address'
export const webhookSecret = 'Secret'
export const secretHint = 'Signs what is sent. It is not shown again.'
export const leftEmptyKeeps = 'Left empty, the present one stays.'
export const withoutSecret = 'No longer signed'
export const output = 'Output'
export const chooseOne = 'Choose one'
export const noOutputsYet = 'No camera has any. Look for them on the page of a camera.'
export const how = 'How'
export const outputOptions = [
  ['pulse', 'On for a time'],
  ['on', 'On'],
  ['off', 'Off'],
] as const
export const keepBefore = 'From before it'
export const keepAfter = 'To after it'
export const armOptions = [
  ['yes', 'Arm'],
  ['no', 'Disarm'],
] as const
export const whichRules = 'Rules'
export const noRuleYet = 'There is no other rule yet.'
export const chooseRules = 'Tick the rules that it arms or disarms.'
export const zeroMinutes = '0: until somebody changes it.'
export const whoIsTold = 'Who; none is everybody who may see it'
export const notifyHint = 'They are told on the pages of this recorder that they have open.'
export const chooseOutput = 'Choose an output.'
export const chooseTheCamera = 'Choose a camera.'
export const chooseCameras = 'Tick at least one camera, or take every one.'
export const choosePreset = 'Choose a preset.'
export const chooseMessage = 'Choose a message.'
export const chooseDay = 'Tick at least one day.'
export const whichCamera = 'Camera'
export const noneTurns = 'No camera is spoken to over ONVIF, so none can be turned. Add it over ONVIF.'
export const noneSpeaks = 'No camera is known to have a loudspeaker. Ask it on its page.'
export const aimHint = 'It looks at the place on the plan where it was seen: calibrate it there first.'
export const whichPreset = 'Preset'
export const askingPresets = 'Asking the camera for its presets.'
export const noPresetsYet = 'This camera keeps no presets. Save one on its page.'
export const presetNamed = (token: string) => `Preset ${token}`
export const thenGoes = 'Afterwards'
export const staysThere = 'Stays there'
export const after = 'After'
export const zoomOfAim = 'Zoom'
export const zoomHint = '0 is all wide, 1 all near; left empty, it stays as it is.'
export const whichMessage = 'Message'
export const noMessagesForRule = 'There are no messages yet. Make one on the page Messages.'
export const howOften = 'How often'
export const repeatOptions = [
  ['1', 'Once'],
  ['2', 'Twice'],
  ['3', 'Three times'],
] as const
export const orWords = 'Or by these words'
export const wordsHint = 'As a detector names them, with commas between: car, truck.'
export const whichFaults = 'Which ones; empty is any'
export const faultsHint = 'Codes of the ledger, with commas between: camera_lost, disk_lost.'
export const thanUsual = 'How many'
export const directionOptions = [
  ['either', 'More or fewer'],
  ['more', 'More'],
  ['fewer', 'Fewer'],
] as const
export const usualHint =
  'What is usual at this time of the week is learned from what was seen in the last five weeks, one week at least.'
export const withinSoLong = 'Within'
export const minuteOptions = (now: string) =>
  [...new Set(['15', '30', '60', '120', '240', now])].map((minutes) => [minutes, `${minutes} minutes`] as const)
export const howReadily = 'How readily'
export const sensitivityOptions = [
  ['low', 'Only what stands out far'],
  ['medium', 'Usual'],
  ['high', 'Readily'],
] as const
export const ruleIsSaved = (name: string) => `${name} is saved.`
export const ruleIsRemoved = (name: string) => `${name} is removed.`
export const removeRule = 'Remove rule'
export const keepRule = 'Keep rule'
export const removeRuleQuestion = (name: string) => `Remove ${name}?`
export const removingRuleMeans = 'It does nothing any more, and its secrets are gone. To let it rest, disarm it.'
export const arm = 'Arm'
export const disarm = 'Disarm'
export const armNamed = (name: string, isArming: boolean) => `${isArming ? 'Arm' : 'Disarm'} ${name}`
export const ruleIsArmed = (name: string) => `${name} is armed.`
export const ruleIsDisarmed = (name: string) => `${name} is disarmed.`
export const isArmed = 'armed'
export const isDisarmed = 'disarmed'
export const notItsTime = 'not its time'
export const untilTime = (time: string) => `until ${time}`
export const alertToast = (rule: string, summary: string) => `${rule}: ${summary}`

// Outputs and own events of a camera (outputs-panel.ts)

export const outputs = 'Outputs'
export const lookForOutputs = 'Look for outputs'
export const lookAgain = 'Look again'
export const outputsLookedFor = (name: string) => `${name} was asked.`
export const noOutputs = 'No outputs'
export const nobodyLooked = 'Nobody has looked yet'
export const whatOutputsAre = 'Relays of the camera, for a light, a siren or a door.'
export const outputIs = (name: string, state: string) => `${name} ${state}.`
export const outputStates = { pulse: 'is on for 10 seconds', on: 'is on', off: 'is off' } as const
export const outputIsOn = 'on'
export const outputIsOff = 'off'
export const isOnUntil = (time: string) => `on until ${time}`
export const tenSeconds = '10 s'
export const on = 'On'
export const off = 'Off'
export const ownEvents = 'Its own events'
export const eventsAreOff = 'not listened to'
export const eventStates = { starting: 'asking the camera', ok: 'listened to', failing: 'not heard' } as const
export const listen = 'Listen'
export const dontListen = 'Stop listening'
export const listenedTo = (name: string) => `${name} is listened to.`
export const notListenedTo = (name: string) => `${name} is no longer listened to.`
