"""Names of organisations that many people know, and words that end the names of others."""

from __future__ import annotations

import re

_EMPLOYERS = (
    "Accenture|Airbus|ASML|AstraZeneca|BASF|Bayer|Boeing|Bosch|Bytedance|Capgemini|DeepMind|Deloitte|Equinor|Ericsson|"
    "EY|IBM|Infosys|KPMG|Maersk|McKinsey|Meta|NASA|Nestlé|Nestle|Novartis|Nvidia|Pfizer|PwC|Red Hat|Roche|Siemens|"
    "SpaceX|Unilever"
)
_SERVICES = (
    "Adobe|Adidas|Adyen|Ahold|Airbnb|Aldi|Alibaba|Allianz|Amazon|Anthropic|Apple|Atlassian|AWS|AXA|Barclays|BBC|BMW|"
    "Booking|BP|Canva|Cisco|Citi|Cloudflare|Databricks|Datadog|Deliveroo|Dell|DHL|Dropbox|eBay|Facebook|FedEx|Figma|"
    "GitHub|GitLab|Google|Heineken|HSBC|Huawei|IKEA|ING|Intel|JPMorgan|Klarna|KLM|Lidl|LinkedIn|Lufthansa|Mercedes|"
    "Microsoft|Mozilla|Netflix|NHS|Nike|Nintendo|Nokia|OpenAI|Oracle|PayPal|Philips|Pinterest|Rabobank|Reddit|Revolut|"
    "Salesforce|Samsung|SAP|Shell|Shopify|Slack|Snowflake|Sony|Spotify|Stripe|Tesco|Tesla|TikTok|Twilio|Twitter|Uber|"
    "UPS|Vattenfall|Vodafone|Volkswagen|Volvo|Walmart|Yahoo|Zalando|Zoom"
)
"""Of these, people are customers or users at least as often as they work there."""
_LAST_WORDS = (
    "AG|Airlines|Airways|Bank|Consulting|Corp|Electronics|Foods|GmbH|Group|Inc|Industries|Insurance|Labs|Logistics|Ltd|"
    "Motors|Partners|Pharma|Robotics|Solutions|Studios|Systems|Technologies|Ventures"
)
EMPLOYER = rf"(?:{_EMPLOYERS})\b(?! [A-ZÀ-Þ])"
"""For a pattern that tells capitals from small letters: an organisation that few people know but as an employer."""
_ORGANISATION = re.compile(rf"(?:{_EMPLOYERS}|{_SERVICES})|[A-ZÀ-Þ][\w&'’-]*(?: [A-ZÀ-Þ][\w&'’-]*)? (?:{_LAST_WORDS})")


def is_organisation(name: str) -> bool:
    return _ORGANISATION.fullmatch(name) is not None
