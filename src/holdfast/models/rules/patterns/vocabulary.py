"""Word lists used by the rules: relations, countries, cities, languages, jobs, attributes, imperatives, technology."""

from __future__ import annotations


def split_words(text: str) -> list[str]:
    return text.split()


COUNTED = split_words(
    "kids? children child sons? daughters? brothers? sisters? siblings? dogs? cats? pets? cousins? nephews? "
    "nieces? grandchildren grandkids twins puppies puppy kittens? parrots? rabbits? horses? bikes? bicycles? "
    "cars? guitars? motorcycles? houses? apartments? plants? chickens? fish goldfish hamsters? turtles? "
    "cameras? monitors? laptops?"
)
JOBS = split_words(
    "engineer developer programmer teacher nurse doctor lawyer accountant designer architect student consultant "
    "analyst manager director scientist researcher professor lecturer writer author editor journalist "
    "photographer artist musician chef cook baker barista waiter waitress electrician plumber carpenter "
    "mechanic driver pilot paramedic firefighter therapist psychologist psychiatrist physicist chemist "
    "biologist pharmacist dentist surgeon veterinarian vet librarian translator interpreter salesperson "
    "recruiter marketer freelancer contractor founder ceo cto cfo entrepreneur investor banker economist "
    "statistician administrator coordinator planner technician tester farmer gardener florist hairdresser "
    "tailor actor actress singer dancer coach trainer instructor tutor midwife physiotherapist radiologist "
    "specialist intern postdoc apprentice officer soldier realtor broker producer bookkeeper paralegal "
    "secretary receptionist strategist sre cardiologist dermatologist pediatrician historian linguist "
    "philosopher curator geologist zoologist retiree lead supervisor illustrator"
)
CONDITIONS = split_words(
    "diabetes asthma adhd epilepsy arthritis migraines? hypertension insomnia anemia celiac coeliac ibs eczema "
    "psoriasis autism dyslexia anxiety depression hypothyroidism tinnitus endometriosis sciatica astigmatism"
)
ATTRIBUTES = (
    "(?:[a-z-]+ )?number|phone number|mobile number|cell number|number plate|licen[cs]e plate|phone|mobile|e-?mail "
    "address|e-?mail|home address|"
    "address|post ?code|zip code|time ?zone|budget|shoe size|shirt size|dress size|ring size|"
    "jacket size|hat size|size|height|"
    "weight|blood type|blood pressure|birthday|anniversary|user ?name|handle|github handle|"
    "native language|mother tongue|"
    "first language|nationality|hometown|major|degree|job title|job|profession|occupation|"
    "employer|company|salary|commute|"
    "daily commute|car|bike|laptop|phone model|editor|ide|operating system|os|shell|hosting "
    "provider|bank|gym|blood group|"
    "gate|seat|room number|room|locker number|order number|booking reference|confirmation number|account number|"
    "membership number|customer number|policy number|wifi name|goal|target|screen time|personal best|hobby|zodiac sign|"
    "star sign|pronouns|middle name|last name|surname|family name|first name|nickname|full name|maiden name|home city"
)
THINGS = (
    "database|db|main branch|default branch|branch|repo|repository|staging (?:server|url|environment|host)|production "
    "(?:server|url|environment|host)|server|host|endpoint|base url|url|api version|version|stack|tech stack|framework|"
    "build tool|test framework|ci|cloud provider|region|bucket|queue|cache|package manager|linter|formatter|code style|"
    "sprint length|on-?call rota|stand-?up|retention period|rate limit|timeout|license|licence|wifi password|door code"
)
IMPERATIVES = frozenset(
    split_words(
        "run use write add check ask answer reply respond give show include avoid keep make do commit push merge "
        "deploy format indent prefer call send tell explain cite quote put create start end test lint validate "
        "remove delete touch change modify suggest recommend mention assume say speak translate confirm verify "
        "follow return print log store save open close book choose pick order reserve schedule wait double-check "
        "skip share reveal be address refer round convert provide list prefix sign pin squash rebase review "
        "document type name import export install upgrade leave set let treat consider remember recommend offer "
        "propose summarise summarize limit stick read try go serve cook buy pay"
    )
)
CHORES = IMPERATIVES | frozenset(
    split_words(
        "cancel tell get find fix repair clean wash paint bleed collect drop bring bake renew apply register request "
        "ring phone text email mail invite pack unpack plan prepare organise organize sort arrange visit see meet talk "
        "sell rent hire feed walk plant mow cut hang move carry install mount build replace service measure check "
        "compare sew iron hoover vacuum empty water weed finish submit file fill update upload download back scan copy "
        "transfer withdraw deposit claim chase remind notify inform thank congratulate post ship deliver pay pick "
        "swap switch look search practise practice learn study revise proofread draft rewrite refactor migrate rotate "
        "archive backfill benchmark document investigate debug tidy rake shovel defrost descale order take "
        "label lift hand"
    )
)
"""First words of what somebody has to do."""
STOP = frozenset(
    split_words(
        "a about above after again against all also am an and any are as at be because been before being below "
        "between both but by can could did do does doing don down during each few for from further get got had has "
        "have having he her here hers him his how i if in into is it its just last like ll lot lots make me more "
        "most my near new next no nor not now of off on once one only or other our out over own per really recently "
        "s said same she should since so some still such t than that the their them then there these they this "
        "those through to today too two under until up use user uses very via was way we week were what when where "
        "which while who why will with would yesterday you your others wants asks needs ago always never every "
        "going went"
    )
)
TECHNOLOGY = frozenset(
    split_words(
        "postgres postgresql mysql mariadb sqlite mongodb redis valkey kafka rabbitmq elasticsearch kubernetes k8s "
        "docker podman aws gcp azure github gitlab bitbucket react vue svelte angular rust go golang python "
        "typescript javascript java kotlin swift linux windows macos slack teams notion jira linear asana trello "
        "terraform pulumi ansible bazel pnpm npm yarn bun vite webpack nextjs django fastapi flask rails laravel "
        "spring figma zoom stripe vercel netlify heroku cloudflare snowflake bigquery databricks graphql grpc rest "
        "openai anthropic node deno main trunk master production staging cloud microservices monorepo jenkins "
        "circleci prometheus grafana datadog sentry uv poetry pip ruff black mypy pytest jest vitest cypress "
        "playwright tailwind excel sheets discord telegram signal whatsapp gmail outlook"
    )
)
CANONICAL = {
    "phone-number": "phone",
    "mobile-number": "phone",
    "cell-number": "phone",
    "mobile": "phone",
    "email-address": "email",
    "e-mail": "email",
    "e-mail-address": "email",
    "time-zone": "timezone",
    "home-address": "address",
    "job": "job-title",
    "profession": "job-title",
    "occupation": "job-title",
    "company": "employer",
    "os": "operating-system",
    "kids": "children",
    "kid": "children",
    "child": "children",
    "full-name": "name",
    "first-name": "name",
    "mother-tongue": "native-language",
    "first-language": "native-language",
    "blood-group": "blood-type",
    "db": "database",
    "daily-commute": "commute",
    "username": "username",
    "user-name": "username",
    "zip-code": "postcode",
    "post-code": "postcode",
    "surname": "last-name",
    "family-name": "last-name",
    "licence-plate": "license-plate",
    "number-plate": "license-plate",
    "puppies": "puppies",
    "pb": "personal-best",
    "personal-record": "personal-best",
}
