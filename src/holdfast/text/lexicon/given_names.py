"""Given names that are nearly always a woman's or a man's. Names used by both are in neither list."""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


WOMEN = _names(
    """
    Abigail Ada Adele Agnes Aisha Alejandra Alice Alicia Alina Allison Amanda Amelia Amina Amy Ana Anastasia Andrea
    Angela Anita Anja Anke Ann Anna Anne Annika Antonia Aoife Ashley Astrid Audrey Aurora Ava Barbara Beatrice Bella
    Bianca Birgit Bridget Brigitte Camila Carla Carmen Carol Caroline Catherine Cecilia Charlotte Chiara Chloe
    Christina Christine Ciara Claire Clara Claudia Courtney Cristina Cynthia Daisy Daniela Deborah Delia Diana Diane
    Dolores Donna Dorothy Edith Elaine Eleanor Elena Eliza Elizabeth Ella Ellen Elsa Emilia Emily Emma Erica Erin
    Esther Eva Eve Fatima Fiona Flora Florence Frances Francesca Frida Gabriela Gemma Georgia Gina Giulia Gloria
    Grace Greta Hannah Harriet Hazel Heather Heidi Helen Helena Holly Ida Ines Ingrid Irene Irina Iris Isabel
    Isabella Isla Ivy Jacqueline Jana Jane Janet Jasmine Jennifer Jenny Jessica Joan Joana Joanna Johanna Josephine
    Joyce Judith Julia Juliana Julie Juliet Karen Karin Kate Katharina Katherine Kathleen Katie Katja Katrin Keiko
    Kelly Kristina Lara Laura Lauren Layla Lea Leah Leila Lena Leticia Lidia Lily Linda Lisa Liz Lola Lorena Louise
    Lucia Lucy Luisa Luna Lydia Madeleine Madison Magda Maja Mara Margaret Maria Mariana Marie Marina Marta Martha
    Martina Mary Mathilda Maya Megan Mei Melanie Melissa Mia Michelle Mila Miriam Molly Monica Monika Nadia Nadine
    Nancy Naomi Natalia Natalie Natasha Nicole Nina Noor Nora Olga Olivia Paloma Pamela Patricia Paula Pauline
    Penelope Petra Phoebe Pia Pilar Polina Priya Rachel Raquel Rebecca Renata Rita Rosa Rosalie Rose Ruby Ruth
    Sabine Sally Samantha Sandra Sara Sarah Selma Sharon Sheila Silvia Sofia Sofie Sonia Sonja Sophia Sophie Stella
    Stephanie Sue Susan Susanne Svetlana Sylvia Tamara Tanja Tara Tatiana Teresa Tina Ulrike Ursula Valentina
    Valeria Vanessa Vera Veronica Victoria Violet Virginia Vivian Wendy Xenia Yasmin Yolanda Yuki Yvonne Zara Zoe
    """
)
MEN = _names(
    """
    Aaron Abdul Adam Adrian Ahmed Alan Albert Alberto Alejandro Alessandro Alexander Alfred Ali Anders Andre Andreas
    Andrew Anthony Antoine Antonio Arjun Arthur Axel Ben Benjamin Bernd Bill Bob Boris Brandon Brian Bruno Carl
    Carlos Charles Christian Christoph Christopher Colin Connor Craig Cyril Damian Dan Daniel Dave David Dennis
    Derek Diego Dieter Dimitri Dirk Dmitri Dominic Dominik Donald Douglas Duncan Dylan Edgar Eduardo Edward Eli
    Elias Emil Emilio Enrique Eric Erik Ernst Ethan Eugene Fabian Felix Fernando Filip Finn Florian Francesco
    Francisco Frank Franz Fred Frederick Fritz Gabriel Gary Gavin Geoff George Gerald Gerard Gil Giovanni Giuseppe
    Gonzalo Gordon Graham Greg Gregory Guillaume Gustav Hans Harald Harold Harry Hassan Heinrich Hendrik Henrik
    Henry Herbert Hiroshi Holger Howard Hugo Ian Ibrahim Ignacio Igor Ivan Jack Jacob Jakob James Jason Javier Jeff
    Jeffrey Jens Jeremy Jerome Jim Joachim Joao Joe Joel Joerg Johan Johannes John Jon Jonas Jonathan Jordi Jorge
    Jose Josef Joseph Joshua Juan Juergen Julian Julio Justin Karl Keith Ken Kenneth Kevin Klaus Kurt Lars Lawrence
    Leo Leon Leonard Leonardo Liam Lorenzo Louis Luc Luca Lucas Luigi Luis Lukas Luke Magnus Manuel Marc Marcel
    Marcin Marco Marcus Mario Mark Markus Martin Mateo Mats Matt Matteo Matthew Matthias Maurice Max Maximilian
    Michael Michal Miguel Mike Mikhail Mohamed Mohammed Nathan Neil Nelson Nicholas Nick Niels Nikolai Nils Noah
    Norman Oleg Oliver Omar Oscar Oskar Otto Owen Pablo Paolo Patrick Paul Paulo Pedro Peter Phil Philip Philipp
    Pierre Piotr Rafael Raj Ralf Ralph Ramon Raul Raymond Reinhard Rene Ricardo Richard Rob Robert Roberto Roger
    Roland Roman Ron Ronald Ruben Rui Rupert Ryan Samuel Santiago Scott Sean Sebastian Sergei Sergio Simon Stefan
    Stephan Stephen Steve Steven Stuart Sven Ted Theo Theodore Thiago Thomas Thorsten Tim Timothy Tobias Todd Tom
    Tomas Tomasz Tony Travis Tyler Ulrich Uwe Victor Viktor Vincent Vladimir Walter Werner Wilhelm William Wolfgang
    Xavier Yusuf Zach Zachary
    """
)
